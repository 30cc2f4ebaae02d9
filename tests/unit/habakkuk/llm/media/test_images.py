"""Images in the size that a model takes."""

from __future__ import annotations

import random
import zlib

import pytest
from PIL import Image

from habakkuk.llm.media.images import ImageLimits, Unfit, encoded_size, fit_image
from habakkuk.llm.media.sniff import GIF, JPEG, PNG, WEBP, sniff
from habakkuk.llm.types import Payload
from tests.fakes.pictures import lying, noise, opened, plain, written

LIMITS = ImageLimits(frozenset({JPEG, PNG, GIF, WEBP}), 100_000, 200)
FEW_TYPES = ImageLimits(frozenset({JPEG, PNG}), 100_000, 200)


def fit(data: bytes, limits: ImageLimits = LIMITS) -> Payload:
    return fit_image(data, sniff(data) or "", limits)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
def test_an_image_that_fits_is_sent_byte_for_byte(kind: str) -> None:
    data = written(plain(100, 60), kind)
    assert fit(data).data == data


def test_a_wide_image_is_scaled_to_the_longest_side() -> None:
    assert opened(fit(written(plain(1000, 500), "JPEG")).data).size == (200, 100)


def test_a_heavy_image_is_made_light_enough() -> None:
    tight = ImageLimits(LIMITS.types, 6000, 200)
    payload = fit(written(noise(200, 200), "JPEG", quality=95), tight)
    assert payload.mime == JPEG
    assert encoded_size(payload.data) <= 6000
    assert sniff(payload.data) == JPEG


def test_a_screenshot_stays_a_png() -> None:
    assert fit(written(plain(1000, 500), "PNG")).mime == PNG


def test_transparency_is_kept_where_the_result_is_small() -> None:
    payload = fit(written(Image.new("RGBA", (400, 400), (255, 0, 0, 128)), "PNG"))
    assert payload.mime == PNG
    assert opened(payload.data).getpixel((5, 5)) == (255, 0, 0, 128)


def test_transparency_becomes_white_where_only_a_jpeg_is_small_enough() -> None:
    clear = noise(150, 150).convert("RGBA")
    clear.putalpha(0)
    payload = fit(written(clear, "PNG"), ImageLimits(LIMITS.types, 5000, 200))
    assert payload.mime == JPEG
    assert opened(payload.data).getpixel((5, 5)) == (255, 255, 255)


def test_a_photo_is_stood_upright() -> None:
    # EXIF 2.3, tag 0x0112: 6 is a camera held on its right side.
    payload = fit(lying(plain(100, 60), 6))
    assert opened(payload.data).size == (60, 100)
    assert opened(payload.data).getexif().get(0x0112, 1) == 1


def test_of_a_moving_picture_the_first_frame_is_sent() -> None:
    data = written(
        plain(50, 50, "red"), "GIF", save_all=True, append_images=[plain(50, 50, "blue")]
    )
    picture = opened(fit(data).data).convert("RGB")
    assert picture.getpixel((5, 5)) == (255, 0, 0)
    assert not getattr(picture, "is_animated", False)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_a_type_that_a_service_does_not_take_is_written_anew(kind: str) -> None:
    assert fit(written(plain(50, 50), kind), FEW_TYPES).mime in {JPEG, PNG}


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "I;16", "F"])
def test_every_kind_of_pixel_can_be_sent(mode: str) -> None:
    kind = "TIFF" if mode in {"CMYK", "F"} else "PNG"
    payload = fit(written(noise(300, 300, "L").convert(mode), kind))
    assert max(opened(payload.data).size) == 200


def test_sixteen_bits_keep_their_shades() -> None:
    grey = Image.new("I;16", (300, 300), 32_768)
    assert opened(fit(written(grey, "PNG")).data).convert("L").getpixel((5, 5)) == 128


def test_a_very_long_image_keeps_at_least_a_pixel() -> None:
    assert opened(fit(written(plain(1, 3000), "PNG")).data).size == (1, 200)


def test_the_same_image_gives_the_same_bytes() -> None:
    data = written(noise(500, 400), "JPEG")
    assert fit(data) == fit(data)


def test_a_cut_image_is_refused_though_its_head_is_good() -> None:
    data = written(noise(100, 100), "JPEG")
    with pytest.raises(Unfit, match="damaged"):
        fit(data[: len(data) // 2])


def test_bytes_that_only_begin_like_an_image_are_refused() -> None:
    with pytest.raises(Unfit, match="damaged or no image"):
        fit(b"\x89PNG\r\n\x1a\n" + b"\x00" * 50)


def test_an_image_of_absurd_size_is_not_unpacked() -> None:
    # 30,000 by 30,000 pixels of one colour: a hundred kilobytes that would fill 2.7 GB.
    head = written(plain(1, 1), "PNG")
    bomb = bytearray(head)
    bomb[16:24] = (30_000).to_bytes(4, "big") * 2
    crc_at = 29
    bomb[crc_at : crc_at + 4] = _crc(bytes(bomb[12:29]))
    with pytest.raises(Unfit, match="too many pixels"):
        fit(bytes(bomb))


def _crc(chunk: bytes) -> bytes:
    return zlib.crc32(chunk).to_bytes(4, "big")


# Pillow warns of some that it reads all the same.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_broken_files_of_every_kind_are_refused_or_sent_never_more(kind: str) -> None:
    chance = random.Random(7)
    whole = written(noise(40, 40), kind)
    for _ in range(60):
        broken = bytearray(whole[: chance.randrange(20, len(whole))])
        broken[chance.randrange(12, len(broken))] = chance.randrange(256)
        try:
            payload = fit(bytes(broken))
        except Unfit:
            continue
        assert payload.data
