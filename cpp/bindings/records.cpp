// komadori._core.records: the record codecs, with games and samples as columns.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "gil.h"
#include "komadori/records/csa.h"
#include "komadori/records/cut_file.h"
#include "komadori/records/fixed_size.h"
#include "komadori/records/hcpe3.h"
#include "komadori/records/position_set.h"
#include "komadori/records/samples.h"
#include "module.h"
#include "sample_arrays.h"

namespace {

using komadori::End;
using komadori::Fault;
using komadori::FixedFormat;
using komadori::GameTable;
using komadori::GameText;
using komadori::PositionSet;
using komadori::RecordError;
using komadori::ReleaseGil;
using komadori::SampleMoveTable;
using komadori::SampleTable;
using komadori::Winner;
using nb::literals::operator""_a;

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::uint8_t, nb::shape<-1, 32>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> view(const Column<T>& column) {
    return {column.data(), column.shape(0)};
}

template <typename T>
std::vector<T> copy(const Column<T>& column) {
    return {column.data(), column.data() + column.shape(0)};
}

nb::bytes to_bytes(const std::string& s) { return nb::bytes(s.data(), s.size()); }

// One bool per row.
template <typename Test>
nb::ndarray<nb::numpy, bool> each_row(const Rows& rows, Test test) {
    const std::size_t n = rows.shape(0);
    auto owned = std::make_unique<bool[]>(n);
    for (std::size_t i = 0; i < n; ++i) owned[i] = test(rows.data() + 32 * i);
    bool* data = owned.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
    return nb::ndarray<nb::numpy, bool>(data, {n}, owner);
}

template <typename Enum>
Enum to_enum(int value, Enum last, const char* what) {
    if (value < 0 || value > int(last))
        throw RecordError(std::string("no such ") + what + ": " + std::to_string(value));
    return Enum(value);
}

nb::list to_list(const std::vector<Fault>& faults) {
    nb::list out;
    for (const Fault& f : faults) {
        // A reason may quote bytes of the file that aren't UTF-8.
        const auto reason = nb::steal<nb::str>(
            PyUnicode_DecodeUTF8(f.reason.data(), Py_ssize_t(f.reason.size()), "backslashreplace"));
        out.append(nb::make_tuple(f.begin, f.end, f.offset, reason, f.count));
    }
    return out;
}

nb::tuple to_tuple(SampleMoveTable&& moves) {
    return nb::make_tuple(to_numpy(std::move(moves.first)), to_numpy(std::move(moves.move16)),
                          to_numpy(std::move(moves.visits)), to_numpy(std::move(moves.played)));
}

nb::dict to_dict(GameTable&& table) {
    nb::dict out;
    nb::list texts;
    for (const GameText& t : table.texts)
        texts.append(nb::make_tuple(t.game, t.ply, to_bytes(t.key), to_bytes(t.text)));
    out["texts"] = texts;
    out["sfen"] = nb::cast(table.sfen);
    out["winner"] = enums_to_numpy(table.winner);
    out["end"] = enums_to_numpy(table.end);
    out["offset"] = to_numpy(std::move(table.offset));
    out["opponent"] = to_numpy(std::move(table.opponent));
    out["end_time_ms"] = to_numpy(std::move(table.end_time_ms));
    out["first_ply"] = to_numpy(std::move(table.first_ply));
    out["move16"] = to_numpy(std::move(table.move16));
    out["score_cp"] = to_numpy(std::move(table.score_cp));
    out["time_ms"] = to_numpy(std::move(table.time_ms));
    out["candidates"] = to_numpy(std::move(table.candidates));
    out["first_candidate"] = to_numpy(std::move(table.first_candidate));
    out["candidate_move16"] = to_numpy(std::move(table.candidate_move16));
    out["candidate_visits"] = to_numpy(std::move(table.candidate_visits));
    return out;
}

using TextTuple = std::tuple<int, std::string, std::string>;  // ply, key, text (UTF-8)

void append_game(GameTable& table, std::string sfen, int winner, int end, int opponent,
                 std::int32_t end_time_ms, const Column<std::uint16_t>& move16,
                 const Column<std::int32_t>& score_cp, const Column<std::int32_t>& time_ms,
                 const std::optional<Column<std::uint16_t>>& candidates,
                 const Column<std::uint16_t>& candidate_move16,
                 const Column<std::uint16_t>& candidate_visits,
                 const std::vector<TextTuple>& texts) {
    const std::size_t plies = move16.shape(0);
    if (score_cp.shape(0) != plies || time_ms.shape(0) != plies ||
        (candidates && candidates->shape(0) != plies))
        throw RecordError("columns of a game differ in length");
    std::size_t total = 0;
    if (candidates)
        for (const std::uint16_t n : view(*candidates)) total += n;
    if (candidate_move16.shape(0) != total || candidate_visits.shape(0) != total)
        throw RecordError("the number of candidates differs from their counts");
    if (opponent < 0 || opponent > 2) throw RecordError("opponent is not 0, 1 or 2");
    const Winner winner_value = to_enum(winner, Winner::UNKNOWN, "winner");
    table.end.push_back(to_enum(end, End::ADJUDICATION, "end"));
    table.winner.push_back(winner_value);
    for (const auto& [ply, key, text] : texts)
        table.texts.push_back({std::uint32_t(table.games()), ply, key, text});
    table.sfen.push_back(std::move(sfen));
    table.offset.push_back(0);
    table.opponent.push_back(std::uint8_t(opponent));
    table.end_time_ms.push_back(end_time_ms);
    const auto extend = [](auto& column, const auto& values) {
        column.insert(column.end(), values.begin(), values.end());
    };
    extend(table.move16, view(move16));
    extend(table.score_cp, view(score_cp));
    extend(table.time_ms, view(time_ms));
    extend(table.candidate_move16, view(candidate_move16));
    extend(table.candidate_visits, view(candidate_visits));
    for (std::size_t i = 0; i < plies; ++i) {
        const std::uint16_t n = candidates ? candidates->data()[i] : komadori::NO_CANDIDATES;
        table.candidates.push_back(n);
        table.first_candidate.push_back(table.first_candidate.back() + (candidates ? n : 0));
    }
    table.first_ply.push_back(std::uint32_t(table.plies()));
}

using Writer = void (*)(const GameTable&, std::size_t, std::string&);

template <Writer writer>
nb::bytes written(const GameTable& table, std::size_t game) {
    if (game >= table.games()) throw nb::index_error("no such game in the table");
    std::string out;
    writer(table, game, out);
    return to_bytes(out);
}

using Reader = GameTable (*)(std::span<const std::uint8_t>, std::size_t, std::size_t);

template <Reader reader>
nb::tuple read(const Column<std::uint8_t>& data, std::size_t begin, std::size_t max_games) {
    GameTable table;
    {
        ReleaseGil release;
        table = reader(view(data), begin, max_games);
    }
    const std::uint64_t next = table.next;
    nb::list faults = to_list(table.faults);
    return nb::make_tuple(to_dict(std::move(table)), faults, next);
}

FixedFormat fixed_format(std::string_view name) {
    constexpr std::pair<std::string_view, FixedFormat> NAMES[] = {
        {"hcpe", FixedFormat::HCPE},
        {"hcpe2", FixedFormat::HCPE2},
        {"apery", FixedFormat::APERY},
        {"psv", FixedFormat::PSV},
    };
    for (const auto& [known, format] : NAMES)
        if (known == name) return format;
    throw RecordError("unknown record format " + std::string(name));
}

SampleTable to_table(const Rows& hcp, const Column<std::uint16_t>& move16,
                     const Column<std::int16_t>& score_cp, const Column<float>& result,
                     const Column<std::int16_t>& ply, const Column<std::int16_t>& end_ply,
                     const Column<std::uint8_t>& end) {
    const std::size_t n = hcp.shape(0);
    for (const std::size_t size : {move16.shape(0), score_cp.shape(0), result.shape(0),
                                   ply.shape(0), end_ply.shape(0), end.shape(0)})
        if (size != n) throw RecordError("columns of samples differ in length");
    SampleTable table;
    table.hcp.assign(hcp.data(), hcp.data() + n * 32);
    table.move16 = copy(move16);
    table.score_cp = copy(score_cp);
    table.result = copy(result);
    table.ply = copy(ply);
    table.end_ply = copy(end_ply);
    for (const std::uint8_t value : view(end))
        table.end.push_back(to_enum(value, End::ADJUDICATION, "end"));
    return table;
}

// Signatures for the stubs.
#define U8 "numpy.typing.NDArray[numpy.uint8]"
#define U16 "numpy.typing.NDArray[numpy.uint16]"
#define I16 "numpy.typing.NDArray[numpy.int16]"
#define I32 "numpy.typing.NDArray[numpy.int32]"
#define I64 "numpy.typing.NDArray[numpy.int64]"
#define U64 "numpy.typing.NDArray[numpy.uint64]"
#define BOOL "numpy.typing.NDArray[numpy.bool_]"
#define F32 "numpy.typing.NDArray[numpy.float32]"
constexpr const char* WRITE_FIXED =
    "def write_fixed(format: str, hcp: " U8 ", move16: " U16 ", score_cp: " I16 ", result: " F32
    ", ply: " I16 ", end_ply: " I16 ", end: " U8 ") -> bytes";
constexpr const char* WRITE_HCPE3 =
    "def write_hcpe3(hcp: " U8 ", move16: " U16 ", score_cp: " I16 ", result: " F32 ", ply: " I16
    ", end_ply: " I16 ", end: " U8 ", game: " I32 ", first: " I64 ", candidates: " U16
    ", visits: " U16 ", played: " U16 ") -> bytes";
constexpr const char* APPEND =
    "def append(self, sfen: str, winner: int, end: int, opponent: int, end_time_ms: int, "
    "move16: " U16 ", score_cp: " I32 ", time_ms: " I32 ", candidates: " U16
    " | None, candidate_move16: " U16 ", candidate_visits: " U16
    ", texts: list[tuple[int, str, str]]) -> None";
#define COLUMNS "dict[str, typing.Any]"
#define FAULTS "list[tuple[int, int, int, str, int]]"

}  // namespace

void bind_records(nb::module_& m) {
    nb::exception<RecordError>(m, "RecordError", PyExc_ValueError);
    m.attr("NO_SCORE") = komadori::NO_SCORE;
    m.attr("MATE_CP") = komadori::MATE_CP;
    m.attr("NO_TIME") = komadori::NO_TIME;
    m.attr("NO_CANDIDATES") = int(komadori::NO_CANDIDATES);
    m.attr("HCPE3_MAX_PLIES") = komadori::HCPE3_MAX_PLIES;
    constexpr std::size_t all = std::size_t(-1) >> 1;

    m.def("read_hcpe3", &read<komadori::read_hcpe3>, "data"_a, "begin"_a = 0, "max_games"_a = all,
          nb::sig("def read_hcpe3(data: " U8 ", begin: int = 0, max_games: int = "
                  "...) -> tuple[" COLUMNS ", " FAULTS ", int]"));
    m.def("read_csa", &read<komadori::read_csa>, "data"_a, "begin"_a = 0, "max_games"_a = all,
          nb::sig("def read_csa(data: " U8 ", begin: int = 0, max_games: int = "
                  "...) -> tuple[" COLUMNS ", " FAULTS ", int]"));
    m.def(
        "hcpe3_samples",
        [](const Column<std::uint8_t>& data) {
            SampleTable samples;
            std::vector<Fault> faults;
            {
                ReleaseGil release;
                GameTable table = komadori::read_hcpe3(view(data));
                samples = komadori::to_samples(table);
                faults = std::move(table.faults);
            }
            return nb::make_tuple(to_dict(std::move(samples)), to_list(faults));
        },
        "data"_a, nb::sig("def hcpe3_samples(data: " U8 ") -> tuple[" COLUMNS ", " FAULTS "]"));
    m.def(
        "hcpe3_sample_moves",
        [](const Column<std::uint8_t>& data) {
            SampleTable samples;
            SampleMoveTable moves;
            std::vector<Fault> faults;
            {
                ReleaseGil release;
                GameTable table = komadori::read_hcpe3(view(data));
                samples = komadori::to_samples(table, &moves);
                faults = std::move(table.faults);
            }
            return nb::make_tuple(to_dict(std::move(samples)), to_tuple(std::move(moves)),
                                  to_list(faults));
        },
        "data"_a,
        nb::sig("def hcpe3_sample_moves(data: " U8 ") -> tuple[" COLUMNS ", tuple[" I64 ", " U16
                ", " U16 ", " U16 "], " FAULTS "]"));
    m.def(
        "fixed_samples",
        [](std::string_view format, const Column<std::uint8_t>& data, std::size_t begin,
           std::size_t max_records) {
            const FixedFormat fixed = fixed_format(format);
            komadori::FixedRead out;
            {
                ReleaseGil release;
                out = komadori::read_fixed(fixed, view(data), begin, max_records);
            }
            return nb::make_tuple(to_dict(std::move(out.samples)), to_list(out.faults), out.next);
        },
        "format"_a, "data"_a, "begin"_a = 0, "max_records"_a = all,
        nb::sig("def fixed_samples(format: str, data: " U8 ", begin: int = 0, "
                "max_records: int = ...) -> tuple[" COLUMNS ", " FAULTS ", int]"));
    m.def(
        "record_size",
        [](std::string_view format) { return komadori::record_size(fixed_format(format)); },
        "format"_a);
    m.def(
        "fixed_fields",
        [](std::string_view format) {
            std::vector<std::tuple<std::string, std::string, std::size_t>> fields;
            for (const auto& field : komadori::fields_of(fixed_format(format))) {
                fields.emplace_back(field.name, field.type, field.count);
            }
            return fields;
        },
        "format"_a,
        "Name, numpy type and count of each field of a record, in order, without gaps.");
    m.def(
        "count_valid",
        [](std::string_view format, const Column<std::uint8_t>& data, std::size_t limit) {
            return komadori::count_valid(fixed_format(format), view(data), limit);
        },
        "format"_a, "data"_a, "limit"_a,
        nb::sig("def count_valid(format: str, data: " U8 ", limit: int) -> int"));
    m.def(
        "write_fixed",
        [](std::string_view format, const Rows& hcp, const Column<std::uint16_t>& move16,
           const Column<std::int16_t>& score_cp, const Column<float>& result,
           const Column<std::int16_t>& ply, const Column<std::int16_t>& end_ply,
           const Column<std::uint8_t>& end) {
            const SampleTable table = to_table(hcp, move16, score_cp, result, ply, end_ply, end);
            std::string out;
            komadori::write_fixed(fixed_format(format), table, out);
            return to_bytes(out);
        },
        "format"_a, "hcp"_a, "move16"_a, "score_cp"_a, "result"_a, "ply"_a, "end_ply"_a, "end"_a,
        nb::sig(WRITE_FIXED));
    m.def(
        "write_hcpe3",
        [](const Rows& hcp, const Column<std::uint16_t>& move16,
           const Column<std::int16_t>& score_cp, const Column<float>& result,
           const Column<std::int16_t>& ply, const Column<std::int16_t>& end_ply,
           const Column<std::uint8_t>& end, const Column<std::int32_t>& game,
           const Column<std::int64_t>& first, const Column<std::uint16_t>& candidates,
           const Column<std::uint16_t>& visits, const Column<std::uint16_t>& played) {
            SampleTable table = to_table(hcp, move16, score_cp, result, ply, end_ply, end);
            const SampleMoveTable moves{copy(first), copy(candidates), copy(visits), copy(played)};
            table.game = copy(game);
            const std::size_t n = table.size();
            if (table.game.size() != n || moves.played.size() != n || moves.first.size() != n + 1 ||
                moves.first.front() != 0 || !std::ranges::is_sorted(moves.first) ||
                std::size_t(moves.first.back()) != moves.move16.size() ||
                moves.visits.size() != moves.move16.size())
                throw RecordError("columns of samples differ in length");
            std::string out;
            {
                ReleaseGil release;
                komadori::write_hcpe3(table, moves, out);
            }
            return to_bytes(out);
        },
        "hcp"_a, "move16"_a, "score_cp"_a, "result"_a, "ply"_a, "end_ply"_a, "end"_a, "game"_a,
        "first"_a, "candidates"_a, "visits"_a, "played"_a, nb::sig(WRITE_HCPE3));

    nb::class_<GameTable>(m, "GameTable")
        .def(nb::init<>())
        .def("__len__", &GameTable::games)
        .def("append", &append_game, "sfen"_a, "winner"_a, "end"_a, "opponent"_a, "end_time_ms"_a,
             "move16"_a, "score_cp"_a, "time_ms"_a, "candidates"_a.none(), "candidate_move16"_a,
             "candidate_visits"_a, "texts"_a, nb::sig(APPEND))
        .def("hcpe3", &written<static_cast<Writer>(komadori::write_hcpe3)>, "game"_a)
        .def("csa", &written<komadori::write_csa>, "game"_a)
        .def(
            "samples",
            [](const GameTable& table) {
                SampleTable samples;
                {
                    ReleaseGil release;
                    samples = komadori::to_samples(table);
                }
                return to_dict(std::move(samples));
            },
            nb::sig("def samples(self) -> " COLUMNS));

    m.def(
        "position_keys",
        [](const Rows& hcp) {
            std::vector<std::uint64_t> keys(hcp.shape(0));
            {
                ReleaseGil release;
                for (std::size_t i = 0; i < keys.size(); ++i) {
                    keys[i] = komadori::position_key(hcp.data() + 32 * i);
                }
            }
            return to_numpy(std::move(keys));
        },
        "hcp"_a, nb::sig("def position_keys(hcp: " U8 ") -> " U64),
        "uint64 [N] from uint8 [N, 32]: equal positions (board, hands, turn) get equal keys.");

    m.def("report_cut_files", komadori::report_cut_files,
          "Name a mapped file that is cut while it is in use, and end the process with status 1, "
          "instead of a bus error. No-op where that signal has another handler.");

    nb::class_<PositionSet>(m, "PositionSet", "A set of positions by a 64-bit hash of their hcp.")
        .def(nb::init<>())
        .def("__len__", &PositionSet::size)
        .def(
            "add",
            [](PositionSet& set, const Rows& hcp) {
                return each_row(hcp, [&](const std::uint8_t* row) { return set.add(row); });
            },
            "hcp"_a, nb::sig("def add(self, hcp: " U8 ") -> " BOOL),
            "Adds the rows, uint8 [N, 32]. Returns bool [N]: which were new.")
        .def(
            "contains",
            [](const PositionSet& set, const Rows& hcp) {
                return each_row(hcp, [&](const std::uint8_t* row) { return set.contains(row); });
            },
            "hcp"_a, nb::sig("def contains(self, hcp: " U8 ") -> " BOOL),
            "bool [N]: which of the rows, uint8 [N, 32], are in the set.");
}
