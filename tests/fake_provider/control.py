"""What another process may ask of a fake that it cannot reach into; none of it is recorded."""

import base64
import json
from typing import TYPE_CHECKING, Any

from tests.fake_provider.record import Recorded
from tests.fake_provider.reply import Reply, json_reply

if TYPE_CHECKING:
    from tests.fake_provider.server import FakeProvider


def control(fake: "FakeProvider", request: Recorded) -> Reply:
    match request.method, request.path:
        case "POST", "/__ctl/rules":
            for options in json.loads(request.raw):
                fake.add_fault(**options)
            return json_reply(200, {"rules": len(fake.faults)})
        case "POST", "/__ctl/jobs":
            _set(fake.job_script, json.loads(request.raw))
            return json_reply(200, {})
        case "POST", "/__ctl/hub":
            _set_hub(fake, json.loads(request.raw))
            return json_reply(200, {})
        case "POST", "/__ctl/reset":
            fake.reset()
            return json_reply(200, {})
        case "GET", "/__ctl/requests":
            return json_reply(200, [recorded.as_json() for recorded in fake.requests])
        case "GET", "/__ctl/summary":
            return json_reply(200, _summary(fake))
        case _:
            return json_reply(404, {})


def _set(target: object, fields: dict[str, Any]) -> None:
    """Slots make a misspelt name an error."""
    for name, value in fields.items():
        setattr(target, name, value)


def _set_hub(fake: "FakeProvider", fields: dict[str, Any]) -> None:
    """Files come in base64."""
    for path, content in fields.pop("models", {}).items():
        fake.models[path] = base64.b64decode(content)
    _set(fake.hub, fields)


def _summary(fake: "FakeProvider") -> dict[str, Any]:
    return {
        "count": fake.count(),
        "operations": fake.operations(),
        "texts": fake.texts(),
        "groups": fake.groups(),
        "delays": fake.delays(),
        "max_in_flight": fake.max_in_flight(),
        "abandoned_jobs": fake.abandoned_jobs(),
        "unused_files": fake.unused_files(),
        "leaks": fake.leaks(),
        "violations": fake.violations(),
    }
