"""What the two formats of OpenAI's SDK have in common: its client, its headers, its errors."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import httpx2
import openai
from openai._models import FinalRequestOptions

from habakkuk.llm.transport import line_timeout
from habakkuk.llm.wire.exchange import SdkErrors, StreamProvider

Piece = TypeVar("Piece")


class OpenAISdkProvider(StreamProvider[Piece]):
    """One endpoint that OpenAI's SDK can call, at the `path` of its format."""

    path: ClassVar[str]
    address = "which often ends in /v1"
    errors: ClassVar[SdkErrors] = SdkErrors(openai.OpenAIError, openai.APIStatusError)

    def _make_client(self, http: httpx2.Client) -> openai.OpenAI:
        endpoint = self._endpoint
        client = openai.OpenAI(
            api_key=endpoint.api_key or "none",
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=line_timeout(endpoint.stall_timeout),
            default_headers=endpoint.headers,
            http_client=http,
        )
        # The SDK takes these from the environment, and would send them to any service.
        client.organization = None
        client.project = None
        return client

    def _empty_request(self) -> httpx2.Request:
        # What takes the SDK's own header away where there is no key to send.
        headers: Any = {"Authorization": openai.Omit()} if self._keyless("authorization") else {}
        options = FinalRequestOptions(method="post", url=self.path, headers=headers)
        request: httpx2.Request = self._client._build_request(
            self._client._prepare_options(options)
        )
        return request

    def _status_error(self, response: httpx2.Response) -> Exception:
        error: Exception = self._client._make_status_error_from_response(response)
        return error
