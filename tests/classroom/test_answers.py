"""Wrong and dishonest answers lose the points that they should lose, and other right answers lose nothing.

The answers are judged by `here`; `test_assignments` hands in others by the command that instructors use.
"""

import pytest

from notebooks.assignments import assignment, judge
from tests.classroom import here
from tests.classroom.assignment_answers import RIGHT, WRONG

DEFAULT = assignment.DEFAULT


def wrong_answers():
    """Yield each wrong answer with the tests that it must lose; in `make test`, one for each task."""
    for (name, task), answers in WRONG.items():
        for number, (what, old, new, lost) in enumerate(answers):
            yield pytest.param(
                name, task, old, new, lost, id=f"{task}: {what}", marks=pytest.mark.full if number else ()
            )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task", "old", "new", "lost"), list(wrong_answers()))
def test_a_wrong_answer_loses_the_points_meant_for_it(name, task, old, new, lost):
    found = here.notes(name, task, old, new)
    maybe = {test.removesuffix("?") for test in lost.split() if test.endswith("?")}
    assert set(found) - maybe == set(lost.split()) - {f"{test}?" for test in maybe}, found
    assert all(found.values()), "a student is told why"


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("name", "task", "what", "old", "new"), RIGHT, ids=[f"{right[1]}: {right[2]}" for right in RIGHT]
)
def test_another_right_answer_loses_nothing(name, task, what, old, new):
    assert here.notes(name, task, old, new) == {}


def loses_for_certain(answer) -> bool:
    """Say whether a wrong answer must lose a test; it may pass those with a question mark by chance."""
    return any(not test.endswith("?") for test in answer[3].split())


@pytest.mark.slow
def test_every_task_has_five_wrong_answers_that_lose_points():
    """A task is a function or value that a test looks at."""
    tasks = set()
    for name in assignment.names():
        tests = [cell.source for cell in here.case(name, DEFAULT).key.cells if assignment.kind(cell) == "test"]
        looked_at = set().union(*(here.loaded(here.ast.parse(source)) for source in tests))
        tasks |= {(name, asked) for asked in here.case(name, DEFAULT).asked if asked in looked_at}
    assert {
        task
        for task, answers in WRONG.items()
        if len(answers) >= 5 and all(loses_for_certain(answer) for answer in answers)
    } == tasks


@pytest.mark.full
@pytest.mark.parametrize("name", assignment.names())
def test_a_function_that_draws_is_tested_with_generators_that_nobody_knows(name, monkeypatch):
    """A student who knows the seeds of a hidden test could draw well for these alone."""
    call, states = here.Here.call, set()

    def noted(self, function, args, kwargs, *more):
        states.add(str(kwargs["rng"].bit_generator.state) if "rng" in kwargs else "")
        return call(self, function, args, kwargs, *more)

    monkeypatch.setattr(here.Here, "call", noted)
    solution = here.solved(name, DEFAULT)
    for cell in here.case(name, DEFAULT).key.cells:
        hidden = cell.source.partition("### BEGIN HIDDEN TESTS")[2]
        if assignment.kind(cell) == "test" and "rng=" in hidden and "replacing" not in hidden:
            known = []
            for source in (cell.source.partition("### BEGIN HIDDEN TESTS")[0], cell.source, cell.source):
                states.clear()
                assert judge.run_test(source, here.Here(solution), here.case(name, DEFAULT), {})["error"] is None
                known.append(states - {""})
            assert known[1] & known[2] <= known[0], cell.id
