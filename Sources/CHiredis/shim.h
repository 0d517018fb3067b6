#pragma once
#include <features.h>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
