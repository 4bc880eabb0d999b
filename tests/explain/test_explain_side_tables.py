"""Tables of results: read where their columns are known, and said to be there where not."""

from course_utils.explain import explain
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.reading import read
from course_utils.explain.paste.side_tables import side_tables

OF_BARS = [
    "node  step  gen_kl_error  frac(|ratio-1|>0.1)  reward  hits",
    *(f"   a    {n}       0.001{n}              0.00{n}   0.2{n}  6{n}.5%" for n in range(1, 8)),
]
SIDE_BY_SIDE = [
    "the loss of three trainers with one recipe, the last one does not come down",
    "step      lr    HF Trainer   torchtune   ours",
    *(
        f"{n * 10:4}   {n}e-5   {2 - n / 9:.3f}   {2 - n / 8:.3f}   {2 - n / 20:.3f}"
        for n in (1, 2, 3)
    ),
]


def test_a_bar_within_a_name_parts_no_cells():
    told = explain("\n".join(OF_BARS) + "\n")
    assert told.num_entries == 7 and {"reward", "logp_difference"} <= told.known


def test_cells_between_bars_are_read_as_before():
    rows = ["|step|loss|grad_norm|", *(f"|{n}|{3 - n / 5:.2f}|0.{n}|" for n in range(1, 6))]
    assert explain("\n".join(rows)).num_entries == 5


def test_columns_of_several_runs_are_not_called_missing():
    told = str(explain("\n".join(SIDE_BY_SIDE) + "\n"))
    assert "3 rows of numbers, lines 3 to 5" in told and "HF Trainer" in told
    assert "no entry of a log" not in told and "as they were printed" not in told


def test_a_text_without_rows_is_asked_for_its_entries():
    told = str(explain("the loss of our SFT run does not come down\nand I do not know why\n"))
    assert "no entry of a log" in told and "as they were printed" in told


def test_what_is_read_as_a_log_is_no_table_beside_it():
    beside = Beside()
    for part in read([*OF_BARS, "", "| --- | --- | --- |", *SIDE_BY_SIDE]):
        beside.hear(part)
    (table,) = side_tables(beside)
    assert table.names[-1] == "ours"
    assert [number for _, number in table.column(4)] == [1.95, 1.9, 1.85]


def test_a_name_and_its_number_between_bars_need_no_sign():
    rows = [f"it {n} | loss {3 - n / 9:.2f} | gnorm 0.{n} | teacher_lp -1.{n}" for n in range(1, 6)]
    told = explain("\n".join(rows) + "\n")
    assert told.num_entries == 5 and {"loss", "grad_norm", "teacher_logp"} <= told.known
