#pragma once
#include <features.h>
#include <yaml.h>
