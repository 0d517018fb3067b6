#pragma once
#include <features.h>
#include <jansson.h>
