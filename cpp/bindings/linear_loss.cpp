// komadori._core.linear: elmo's loss, for arrays of values.
#include "komadori/linear/loss.h"
#include "linear_arrays.h"

using namespace komadori::linear;
using namespace nb::literals;

void bind_linear_loss(nb::module_& m) {
    using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    m.def(
        "loss_terms",
        [](const Values& value_cp, const Values& teacher_cp, const Values& result, double scale_cp,
           double result_weight, double teacher_weight, bool squared) {
            const std::size_t n = value_cp.shape(0);
            if (teacher_cp.shape(0) != n || result.shape(0) != n) {
                throw nb::value_error("values, teacher scores and results differ in length");
            }
            const LossSettings settings{scale_cp, result_weight, teacher_weight, squared};
            std::vector<double> terms(5 * n);
            for (std::size_t i = 0; i < n; ++i) {
                const LossTerms t = loss_terms(value_cp(i), teacher_cp(i), result(i), settings);
                const double row[5] = {t.result, t.teacher, t.result_floor, t.teacher_floor,
                                       t.slope};
                for (std::size_t k = 0; k < 5; ++k) terms[k * n + i] = row[k];
            }
            return array_of(std::move(terms), {5, n});
        },
        "value_cp"_a, "teacher_cp"_a, "result"_a, nb::kw_only(), "scale_cp"_a, "result_weight"_a,
        "teacher_weight"_a, "squared"_a,
        "float64 [5, N], all from the same side's view: the loss against the result and against "
        "the teacher, their floors, and d weighted loss / d (value / scale).");
}
