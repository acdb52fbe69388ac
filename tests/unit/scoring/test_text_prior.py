from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from floor_questions import question, split
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.scoring.blind_predictors import TextPrior
from surgvalid.scoring.blind_questions import blind_questions


def blind(pairs):
    return blind_questions(load_questions(*split(pairs)))


def test_words_decide_where_the_format_alone_cannot() -> None:
    seen = [question(f"q{i}", "yes" if i % 2 else "no", text=f"Is it {'open' if i % 2 else 'shut'}?") for i in range(8)]
    new = [question("a", "yes", text="Open or not?"), question("b", "yes", text="Shut or not?")]
    assert TextPrior(blind(seen)).answers(blind(new)) == ["yes", "no"]


def test_the_procedure_is_read_too() -> None:
    seen = [question(f"q{i}", str(i % 2), format="number", procedure=f"P{i % 2}", text="How many?") for i in range(6)]
    new = [question("a", "9", format="number", procedure="p1 ", text="How many?")]
    assert TextPrior(blind(seen)).answers(blind(new)) == ["1"]


def test_times_are_learnt_from_the_start_of_the_window() -> None:
    seen = [question("q", "00:01:02", format="time", window_s=(50, 90))]
    new = [question("a", "00:00:00", format="time", window_s=(3600, 3700))]
    assert TextPrior(blind(seen)).answers(blind(new)) == ["01:00:12"]


def test_percentages_are_learnt_in_steps_and_unknown_formats_stay_unanswered() -> None:
    seen = [question("q", "41%", format="percentage"), question("r", "x", format="time")]
    new = [question("a", "1%", format="percentage"), question("b", "00:00:01", format="time"), question("c", "yes")]
    assert TextPrior(blind(seen)).answers(blind(new)) == ["40%", None, None]


def test_the_model_is_multinomial_naive_bayes() -> None:
    words = ["bag seen left", "bag seen right", "drain seen left", "left left drain", "right bag"]
    answers = ["1", "1", "2", "2", "3"]
    seen = [question(f"q{i}", a, format="number", text=w) for i, (w, a) in enumerate(zip(words, answers, strict=True))]
    probe = ["bag", "drain", "left", "right", "right bag bag", "unknown", "drain right right right"]
    new = [question(f"n{i}", "0", format="number", text=w) for i, w in enumerate(probe)]
    vector = CountVectorizer()
    theirs = MultinomialNB(alpha=1.0).fit(vector.fit_transform([f"{w} procedurex" for w in words]), answers)
    expected = theirs.predict(vector.transform([f"{w} procedurex" for w in probe]))
    assert TextPrior(blind(seen)).answers(blind(new)) == expected.tolist()


def test_windows_beyond_all_reason_are_survived() -> None:
    seen = [question("q", "00:01:02", format="time", window_s=(1.7e308, 1.7e308))]
    new = [question("a", "00:00:00", format="time", window_s=(-1.7e308, 0))]
    assert TextPrior(blind(seen)).answers(blind(new)) == ["00:00:00"]
