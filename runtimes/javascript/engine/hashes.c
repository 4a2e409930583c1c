#include "engine.h"
const JSCFunctionListEntry hash_functions[1];
const int hash_function_count = 0;
