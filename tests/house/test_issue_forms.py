"""The issue forms of `.github`, for corrections and replies: what GitHub would refuse, and what a reply needs to be printed."""

from pathlib import Path

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

FOLDER = Path(__file__).resolve().parents[2] / ".github/ISSUE_TEMPLATE"
FORMS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
CONFIG = FORMS.pop("config")


def complaints(form: dict, schema: str = "vendor.github-issue-forms") -> list[str]:
    known = get_builtin_schema(schema)
    return [error.message for error in jsonschema.validators.validator_for(known)(known).iter_errors(form)]


def test_they_follow_the_schema():
    assert set(FORMS) == {"correction", "reply"}
    assert [complaint for form in FORMS.values() for complaint in complaints(form)] == []
    assert complaints(CONFIG, "vendor.github-issue-config") == []


@pytest.mark.parametrize("spoilt", [{"body": []}, {"colour": "red"}, {"body": [{"type": "text", "id": "claim"}]}])
def test_what_github_would_refuse_is_seen(spoilt):
    assert complaints(FORMS["reply"] | spoilt)


def test_a_reply_says_all_that_is_printed_with_it():
    asked = {field["id"]: field for field in FORMS["reply"]["body"]}
    assert {"claim", "reply", "name", "licence"} == set(asked)
    assert all(asked[name]["validations"]["required"] for name in ("claim", "reply", "name"))
    assert asked["licence"]["attributes"]["options"][0]["required"]
