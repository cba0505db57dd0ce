// komadori._core.records: columns in and out of the record codecs.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "komadori/encoding/record_hcpe3.h"
#include "komadori/encoding/record_samples.h"
#include "module.h"

namespace {

using komadori::Fault;
using komadori::GameTable;
using komadori::SampleTable;
using nb::literals::operator""_a;

std::span<const std::uint8_t> as_bytes(
    const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& array) {
    return {array.data(), array.shape(0)};
}
using ByteArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A numpy array that owns the vector's memory.
template <typename T, typename... Shape>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, Shape... inner) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const std::size_t count = owned->size();
    nb::capsule owner(owned.release(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    if constexpr (sizeof...(Shape) == 0)
        return nb::ndarray<nb::numpy, T>(data, {count}, owner);
    else
        return nb::ndarray<nb::numpy, T>(
            data, {count / (std::size_t(inner) * ...), std::size_t(inner)...}, owner);
}

nb::list to_list(const std::vector<Fault>& faults) {
    nb::list out;
    for (const Fault& fault : faults)
        out.append(nb::make_tuple(fault.begin, fault.end, fault.offset, fault.reason, fault.count));
    return out;
}

nb::dict to_dict(SampleTable&& samples) {
    nb::dict out;
    out["hcp"] = to_numpy(std::move(samples.hcp), 32);
    out["move16"] = to_numpy(std::move(samples.move16));
    out["score_cp"] = to_numpy(std::move(samples.score_cp));
    out["result"] = to_numpy(std::move(samples.result));
    out["game"] = to_numpy(std::move(samples.game));
    out["ply"] = to_numpy(std::move(samples.ply));
    out["end_ply"] = to_numpy(std::move(samples.end_ply));
    std::vector<std::uint8_t> end(samples.end.size());
    std::transform(samples.end.begin(), samples.end.end(), end.begin(),
                   [](komadori::End e) { return std::uint8_t(e); });
    out["end"] = to_numpy(std::move(end));
    return out;
}

}  // namespace

void bind_records(nb::module_& m) {
    m.def(
        "hcpe3_samples",
        [](const ByteArray& data) {
            SampleTable samples;
            std::vector<Fault> faults;
            {
                nb::gil_scoped_release release;
                GameTable table = komadori::read_hcpe3(as_bytes(data));
                samples = komadori::to_samples(table);
                faults = std::move(table.faults);
            }
            return nb::make_tuple(to_dict(std::move(samples)), to_list(faults));
        },
        "data"_a,
        nb::sig("def hcpe3_samples(data: numpy.typing.NDArray[numpy.uint8]) -> "
                "tuple[dict[str, typing.Any], list[tuple[int, int, int, str, int]]]"));
}
