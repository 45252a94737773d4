"""Settings of gunicorn, which reads this file if it is in the working folder."""

from __future__ import annotations

import gc
import os
from typing import Any

bind = os.environ.get("FACTOID_BIND", "0.0.0.0:8000")
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "asgi"
preload_app = os.environ.get("FACTOID_PRELOAD", "1") == "1"
# seconds for requests that run when SIGTERM comes; give an orchestrator's own grace period more
graceful_timeout = 30
timeout = 120  # a worker whose event loop stands still for so long is replaced
worker_tmp_dir = "/dev/shm"  # memory: the container's own disk may be read-only
control_socket_disable = True  # it would be a file in the home folder
accesslog = "-"
access_log_format = "%(m)s %(U)s %(s)s %(M)s ms, process %(p)s"


def when_ready(server: Any) -> None:
    """Open the store before the workers are forked.

    So they share its indexes and the model in memory.
    """
    if preload_app:
        server.app.wsgi().state.stores.refresh()
        # the collector would write to all that is there, and so copy it into each worker
        gc.freeze()
