"""Whole runs of the program, byte for byte as in `cli/*.txt`.

`pytest --update-golden` writes those files anew; the difference is then reviewed like code.
"""

from pathlib import Path

import pytest

from tests.cli.program import Program, permissions_hold
from tests.fake_provider import FakeProvider
from tests.golden import scenarios
from tests.golden.stage import SCENES, Scene, Stage

GOLDEN = Path(__file__).parent / "cli"


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_the_program_says_what_it_said(
    scene: Scene, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if scene.needs_refusal and not permissions_hold(tmp_path / "probe"):
        pytest.skip("this user cannot be refused a file")
    golden = GOLDEN / f"{scene.name}.txt"

    with FakeProvider(dims=16, mode="words") as fake:
        transcript = scene.transcript(Stage(Program(tmp_path), fake))

    assert "Traceback" not in transcript
    if request.config.getoption("--update-golden"):
        golden.write_bytes(transcript.encode())
    assert transcript == golden.read_bytes().decode()


def test_every_golden_file_has_its_scene() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(SCENES)


def test_every_module_of_scenes_is_played() -> None:
    files = {path.stem for path in Path(scenarios.__file__).parent.glob("*.py")} - {"__init__"}

    assert {scene.play.__module__.rpartition(".")[2] for scene in SCENES.values()} == files
