"""Why an act is not done: a code for programs, a sentence for persons, and what to do."""

from __future__ import annotations

from surgvalid.errors import SurgvalidError

_OURS = "It stopped on our side, several times and at no cost to you; the organisers {}."
REMEDIES = {
    "phase-not-open": "Wait until the phase opens.",
    "phase-closed": "The phase is over; nothing more can be handed in.",
    "quota-used": "Every scored submission of the phase is used; ask the organisers where something went wrong.",
    "quota-reserved": "Wait for the submissions under way: those that fail on our side give their place back.",
    "attempts-used": "Every attempt of the phase is used; ask the organisers.",
    "too-many-under-way": "Wait until one of the submissions under way has ended, or cancel one.",
    "gate-closed": "Beat the baselines in the phase before; its leaderboard shows what is missing.",
    "team-not-ready": "Settle what is listed on the page of the team.",
    "description-missing": "Add a description of the method.",
    "upload-late": "The upload was announced after the end of the phase.",
    "upload-incomplete": "Send the rest of the file.",
    "not-yours": "There is no such thing.",
    "not-now": "It cannot be done at this stage.",
    "lease-lost": "Drop the job: it was cancelled, or somebody else has it.",
    "unknown-token": "A person makes one on the page of the account; organisers make a worker's with "
    "`surgvalid host admin token`.",
    "team-bytes-used": "Ask the organisers; images of submissions that have ended stay for evidence.",
    "too-many-announced": "Wait an hour.",
    "no-room": "Nothing of this request was kept; try again later, and tell the organisers.",
    "scope-missing": "Make one that hands in, on the page of the account.",
    "duty-missing": "Use a token that has this duty.",
    "reason-missing": "Say why.",
    "embargo": "Wait until the embargo has ended.",
    "phase-open": "Wait until the phase is over; until then a leaderboard can change.",
    "under-way": "Wait for it, or cancel it or run it again where it stopped on our side.",
    "undecided": "Read their descriptions, and run again or let stand what ran on a machine that was not as it should "
    "be.",
    "board-older": "Use the newest one.",
    "board-outdated": "Make the leaderboards anew, and use the new one.",
    "baselines-missing": "Hand the baselines in and let them be scored; the leaderboard is then made anew.",
    "prizes-signed": "Withdraw them first, with a reason, where they have to be others.",
    "four-eyes": "Let another organiser sign.",
    "image-refused": "Mend what is listed and hand the image in again; it cost no scored submission.",
    "handed-in-refused": "Mend what is listed and hand it in again; it cost no scored submission.",
    "never-ready": "The container never said it was ready: try it at home with `surgvalid submission rehearse`.",
    "no-restart-left": "The container ended too often; try it at home with `surgvalid submission rehearse`.",
    "answers-timeout": "Some answers came after the budget; they count as wrong.",
    "answers-invalid": "Some answers were not as the protocol wants them; they count as wrong.",
    "answers-crashed": "The container was lost while it answered; these questions count as wrong.",
    "answers-not-asked": "Some questions were never asked, since the container was lost before; they count as wrong.",
    "answers-infra-error": "Some questions could not be asked on our side; the organisers decide about a new run.",
    "machine-slower": "The machine was slower than it should be; the organisers decide about a new run.",
    "machine-unknown": "How fast the machine was is not known; the organisers decide about a new run.",
    **dict.fromkeys(("interrupted", "worker-lost"), _OURS.format("can run it again")),
    **dict.fromkeys(
        ("engine-failed", "intake-failed", "inference-failed", "scoring-failed", "board-failed"),
        _OURS.format("are told why by the worker, and can run it again"),
    ),
}
"""What to do, by code; for teams, in words of the system alone."""


class Refused(SurgvalidError):
    """An act that is not done."""

    def __init__(self, code: str, text: str) -> None:
        self.code, self.text = code, text
        self.remedy = REMEDIES.get(code, "")
        super().__init__(f"{text} {self.remedy}".strip())


def reason_of(reason: str, *, most: int = 1000) -> str:
    """A reason that says something.

    Raises:
        Refused: It does not, or is too long.
    """
    if not reason.strip() or len(reason) > most:
        raise Refused("reason-missing", f"a reason of 1 to {most} characters is needed; got {len(reason.strip())}.")
    return reason.strip()
