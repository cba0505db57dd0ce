// Feature tables and label schemes by name.
#pragma once

#include <string>

#include "komadori/encoding/errors.h"
#include "komadori/encoding/features.h"
#include "komadori/encoding/label.h"

namespace komadori {

// Both throw EncodingError, a ValueError in Python.
inline const FeatureTable& table_named(const std::string& name) {
    if (const FeatureTable* table = find_feature_table(name)) return *table;
    throw EncodingError("unknown feature table " + name);
}
inline const LabelScheme& scheme_named(const std::string& name) {
    if (const LabelScheme* scheme = find_label_scheme(name)) return *scheme;
    throw EncodingError("unknown label scheme " + name);
}

}  // namespace komadori
