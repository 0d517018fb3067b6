#pragma once
#include <features.h>
#include <postgresql/libpq-fe.h>
