"""The service of examples/production with a fake encoder; settings are in the environment."""

from __future__ import annotations

import time

from factoid.testing import HashEncoder
from tests.production.service import app

SLOW = "Slowly, "  # texts that begin so take their time


class SlowEncoder(HashEncoder):
    """Takes its time where a test asks for it."""

    def encode_queries(self, texts):
        return self._encoded(texts)

    def encode_units(self, texts):
        return self._encoded(texts)

    def _encoded(self, texts):
        if any(SLOW in text for text in texts):
            time.sleep(2)
        return super().encode_units(texts)


def create_app():
    return app.create_app(encoder=SlowEncoder())
