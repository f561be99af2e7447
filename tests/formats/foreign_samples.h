/* SPDX-License-Identifier: MIT */
/* foreign_samples.h - files of other tuners, in pieces, for the tests of logs. */
#ifndef TUNE_TESTS_FORMATS_FOREIGN_SAMPLES_H
#define TUNE_TESTS_FORMATS_FOREIGN_SAMPLES_H

/* As Kernel Tuner writes it while it runs: a result a line, a comma behind each, no end. */
#define KT_HEADER                                                                                                      \
    "{\n\"device_name\": \"NVIDIA RTX A4000\",\n\"kernel_name\": \"vector_add\",\n\"problem_size\": "                  \
    "[\n4096,\n64\n],\n"                                                                                               \
    "\"tune_params_keys\": [\n\"block_size_x\",\n\"alg\",\n\"fast\"\n],\n\"tune_params\": {\n\"block_size_x\": "       \
    "[\n128,\n"                                                                                                        \
    "256\n],\n\"alg\": [\n\"a}1\",\n\"a\\\"2\"\n],\n\"fast\": [\ntrue,\nfalse\n]\n},\n\"objective\": "                 \
    "\"time\",\n\"cache\": {"
#define KT_ONE                                                                                                         \
    "\n\"128,a}1,True\": {\"block_size_x\": 128, \"alg\": \"a}1\", \"fast\": true, \"time\": 0.25, \"times\": [0.5, "  \
    "0.25, "                                                                                                           \
    "0.125], \"compile_time\": 440.5, \"verification_time\": 0, \"nvml_energy\": 0.5, \"timestamp\": \"2022-12-23 "    \
    "12:11:26.411558+00:00\"},"
#define KT_TWO                                                                                                         \
    "\n\"256,a\\\"2,False\": {\"block_size_x\": 256, \"alg\": \"a\\\"2\", \"fast\": false, \"time\": "                 \
    "\"CompilationFailedConfig\", \"times\": [], \"compile_time\": NaN, \"timestamp\": \"2022-12-23 "                  \
    "12:11:27+00:00\"},"
#define KT_THREE                                                                                                       \
    "\n\"256,a}1,False\": {\"block_size_x\": 256, \"alg\": \"a}1\", \"fast\": false, \"__error__\": "                  \
    "\"InvalidConfig\"},"
#define KT_FOUR                                                                                                        \
    "\n\"128,a}1,False\": {\"block_size_x\": 128, \"alg\": \"a}1\", \"fast\": false, \"time\": 1e20, \"GFLOP/s\": "    \
    "Infinity},"
#define KT_OPEN KT_HEADER KT_ONE KT_TWO KT_THREE KT_FOUR

/* As KTT saves it, in both forms. */
#define KTT_HEAD                                                                                                       \
    "{\n  \"Metadata\": {\n    \"ComputeApi\": \"CUDA\",\n    \"Device\": \"NVIDIA GeForce RTX 2080 Ti\",\n    "       \
    "\"KttVersion\": \"2.1.0\",\n    \"TimeUnit\": \"Microseconds\",\n    \"Timestamp\": \"2024-08-12 11:26:23 "       \
    "UTC\"\n  "                                                                                                        \
    "},\n  \"Results\": [\n    "
#define KTT_ONE                                                                                                        \
    "{\n      \"ComputationResults\": [{\"CompilationData\": {\"RegistersCount\": 66, \"LocalMemorySize\": 0}, "       \
    "\"Duration\": 3037.408, \"KernelFunction\": \"sum\"}],\n      \"CompilationOverhead\": 1000.5,\n      "           \
    "\"Configuration\": [{\"Name\": \"WG\", \"Value\": 16, \"ValueType\": \"UnsignedInt\"}, {\"Name\": \"MODE\", "     \
    "\"Value\": \"16\", \"ValueType\": \"String\"}],\n      \"KernelName\": \"Sum\",\n      \"Status\": \"Ok\",\n    " \
    " "                                                                                                                \
    " \"TotalDuration\": 3037.408\n    }"
#define KTT_TWO                                                                                                        \
    "{\"ComputationResults\": [], \"Configuration\": [{\"Name\": \"WG\", \"Value\": 32}], \"KernelName\": \"Sum\", "   \
    "\"Status\": \"ValidationFailed\", \"TotalDuration\": 7}"
#define KTT KTT_HEAD KTT_ONE ",\n    " KTT_TWO "\n  ],\n  \"UserData\": {}\n}"

#define XML_HEAD                                                                                                       \
    "<?xml version=\"1.0\"?>\n<TuningData>\n\t<Metadata ComputeApi=\"CUDA\" Device=\"NVIDIA GeForce RTX 2080 Ti\" "    \
    "KttVersion=\"2.1.0\" Timestamp=\"2024-08-12 11:26:23 UTC\" TimeUnit=\"Microseconds\" />\n\t<Results>\n\t\t"
#define XML_ONE                                                                                                        \
    "<KernelResult KernelName=\"Sum\" Status=\"Ok\" TotalDuration=\"3037.408\" CompilationOverhead=\"1000.5\">"        \
    "<Configuration><Pair ValueType=\"UnsignedInt\" Name=\"WG\" Value=\"16\" /><Pair ValueType=\"String\" "            \
    "Name=\"MODE\" Value=\"16\" /></Configuration><ComputationResults><ComputationResult KernelFunction=\"sum\" "      \
    "Duration=\"3037.408\"><GlobalSize X=\"1\" Y=\"1\" Z=\"1\" /><CompilationData RegistersCount=\"66\" "              \
    "LocalMemorySize=\"0\" /></ComputationResult></ComputationResults></KernelResult>"
#define XML_TWO                                                                                                        \
    "<KernelResult KernelName=\"Sum\" Status=\"ValidationFailed\" TotalDuration=\"7\"><Configuration><Pair "           \
    "Name=\"WG\" "                                                                                                     \
    "Value=\"32\"/></Configuration></KernelResult>"
#define XML XML_HEAD XML_ONE "\n\t\t" XML_TWO "\n\t</Results>\n</TuningData>\n"

/* As TVM's AutoTVM appends them and CLBlast's tuners save them. */
#define AUTOTVM                                                                                                        \
    "{\"input\": [\"opencl -device=mali -model=rk3399\", \"dense.mali\", [[\"TENSOR\", [1, 64], \"float32\"], "        \
    "[\"TENSOR\", [48, 64], \"float32\"], null, \"float32\"], {}], \"config\": {\"index\": 7, \"code_hash\": null, "   \
    "\"entity\": [[\"tile_y\", \"sp\", [-1, 1, 1]], [\"tile_x\", \"sp\", [-1, 4, 4]], [\"c_unroll\", \"sp\", [-1, "    \
    "8]]]}, "                                                                                                          \
    "\"result\": [[0.5, 0.25], 0, 1.5, 1538220265.5], \"version\": 0.2, \"tvm_version\": \"0.9.0\"}\n"
#define CLBLAST                                                                                                        \
    "{\n  \"kernel_family\": \"xgemm_1\",\n  \"precision\": \"32\",\n  \"arg_m\": \"64\",\n  \"arg_n\": \"64\",\n"     \
    "  \"arg_k\": \"64\",\n  \"clblast_device_name\": \"Mali-T760\",\n  \"device_compute_units\": \"8\",\n"            \
    "  \"results\": [\n    {\n      \"kernel\": \"Xgemm\",\n      \"time\": 1.500,\n      \"parameters\": "            \
    "{\"GEMMK\": 0,\"MWG\": 16,\"PRECISION\": 32}\n    }\n  ]\n}\n"

#endif
