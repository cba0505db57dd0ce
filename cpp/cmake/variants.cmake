# Instruction-set levels, warnings and sanitizers.
# x86-64: baseline v2 and v3 (AVX2, BMI2, FMA); elsewhere one plain variant.
if(KOMADORI_NATIVE)
  set(KOMADORI_VARIANTS _native)
  set(KOMADORI_FLAGS__native -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(KOMADORI_VARIANTS _x86_64_v2 _x86_64_v3)
  set(KOMADORI_FLAGS__x86_64_v2 -march=x86-64-v2)
  set(KOMADORI_FLAGS__x86_64_v3 -march=x86-64-v3)
else()
  set(KOMADORI_VARIANTS _plain)
  set(KOMADORI_FLAGS__plain "")
endif()

set(KOMADORI_WARNINGS -Wall -Wextra -Wshadow -Wno-missing-field-initializers)
if(KOMADORI_WERROR)
  list(APPEND KOMADORI_WARNINGS -Werror)
endif()

function(komadori_sanitize target)
  if(KOMADORI_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${KOMADORI_SANITIZE} -fno-omit-frame-pointer -g)
    target_link_options(${target} PRIVATE -fsanitize=${KOMADORI_SANITIZE})
  endif()
endfunction()

# GCC 12.2 at -O3 with AVX2 miscompiles `if (i != k) set |= sets[i]` over 16-byte structs: the mask is
# off by one (seen in piece counts). The fault is in if-conversion of loops.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fno-tree-loop-if-convert)
endif()
