"""Where the repository is public: the Binder and Colab buttons need it.

It is `repository: url:` of _config.yml, or else the `origin` of this checkout where that is on GitHub: a fork's book opens
the fork's notebooks. Without an address there are no buttons.
"""

import re
import subprocess

from sphinx.util import logging

GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[:/](?P<path>[\w.-]+/[\w.-]+?)(?:\.git)?/?")
SERVICES = ("binderhub_url", "colab_url")


def on_github(remote: str) -> str:
    """The address of a git remote's page on GitHub, or "" for a remote elsewhere."""
    found = GITHUB.fullmatch(remote.strip())
    return f"https://github.com/{found['path']}" if found else ""


def origin(folder) -> str:
    """The address from which the checkout in `folder` was cloned, or ""."""
    try:
        asked = subprocess.run(
            ["git", "config", "--get", "remote.origin.url"], cwd=folder, capture_output=True, text=True
        )
    except FileNotFoundError:  # a copy of the files, and no git
        return ""
    return asked.stdout


def find_address(app, config):
    options = config.html_theme_options
    options["repository_url"] = options.get("repository_url") or on_github(origin(app.srcdir))
    if not options["repository_url"]:
        logging.getLogger(__name__).info("no public address is known: no Binder and Colab buttons")
        for service in SERVICES:
            options.get("launch_buttons", {}).pop(service, None)


def setup(app):
    app.connect("config-inited", find_address)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
