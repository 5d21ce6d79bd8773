"""Files over HTTP: with retries, a checked hash, and no more bytes than the dataset can have."""

from collections.abc import Callable
from pathlib import Path

from multilogger.components.errors import BadInput

ATTEMPTS = 3
TIMEOUT_SECONDS = 30.0


class TooLarge(Exception):
    """A server sends more than was agreed on; no `ValueError`, which pooch would try again after."""


def fetch_file(
    base: str,
    name: str,
    sha256: str | None,
    folder: Path,
    limit: int,
    login: str,
    bar: Callable[[float], None],
) -> Path:
    """Fetch one file of a mirror; pooch writes to a temporary file and moves it when it is whole.

    `login` is `user:password`, or empty.
    """
    import logging

    import pooch
    import requests

    pooch.get_logger().setLevel(logging.ERROR)
    url = f"{base.rstrip('/')}/{name}"
    fetcher = pooch.create(
        folder, base_url="", registry={name: sha256}, urls={name: url}, retry_if_failed=ATTEMPTS - 1
    )
    user, colon, password = login.partition(":")
    options = {"auth": (user, password)} if colon else {}
    downloader = pooch.HTTPDownloader(progressbar=_LimitedBar(bar, limit), timeout=TIMEOUT_SECONDS, **options)
    try:
        return Path(fetcher.fetch(name, downloader=downloader))
    except TooLarge as error:
        raise BadInput(
            f"{url} is larger than {limit:,} bytes, the most that this dataset can have; it is another file, "
            "or set another limit with --set download.max_bytes=N"
        ) from error
    except requests.RequestException as error:
        status = f" {error.response.status_code}" if error.response is not None else ""
        raise BadInput(
            f"could not fetch {url} in {ATTEMPTS} attempts ({type(error).__name__}{status}); "
            "check the network, or name a folder or URL that has the file with --mirror"
        ) from error
    except ValueError as error:
        raise BadInput(
            f"{url} does not have the expected sha256; the file changed or is corrupt: {error}"
        ) from error


class _LimitedBar:
    """Our progress bar in the shape that pooch wants; every attempt may be as large as the limit."""

    def __init__(self, bar: Callable[[float], None], limit: int) -> None:
        self._bar, self._limit, self._done = bar, limit, 0
        self.total = 0

    def update(self, amount: int) -> None:
        self._done += amount
        if self._done > self._limit:
            raise TooLarge
        self._bar(amount)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        return None
