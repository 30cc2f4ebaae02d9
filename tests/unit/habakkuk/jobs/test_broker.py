from __future__ import annotations

from habakkuk.jobs.broker import broker_settings, producer_settings


def test_messages_are_json_without_results_or_events() -> None:
    settings = broker_settings("redis://127.0.0.1:6379/0")
    assert settings["accept_content"] == ["json"]
    assert settings["result_backend"] is None
    assert settings["task_ignore_result"] is True
    assert settings["worker_send_task_events"] is False


def test_every_app_has_the_same_visibility_timeout_and_prefix() -> None:
    # The shortest of all apps on one Redis wins: they must not differ.
    consumer, producer = broker_settings("redis://h/0"), producer_settings("redis://h/0")
    for name in ("visibility_timeout", "global_keyprefix"):
        assert (
            consumer["broker_transport_options"][name] == producer["broker_transport_options"][name]
        )
    assert consumer["visibility_timeout"] == producer["visibility_timeout"]


def test_a_producer_gives_up_within_a_second() -> None:
    options = producer_settings("redis://h/0")["broker_transport_options"]
    assert options["socket_timeout"] <= 1
    assert options["socket_connect_timeout"] <= 1
    assert options["max_retries"] == 0


def test_a_unix_socket_is_written_as_the_transport_wants_it() -> None:
    assert (
        broker_settings("unix:///run/valkey.sock?db=2")["broker_url"]
        == "redis+socket:///run/valkey.sock?virtual_host=2"
    )
