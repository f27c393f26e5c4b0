/* confine-sweep.c - nothing but main(): the tests call sweep_main() as well. */
#include "sweep/sweep.h"

int main(int argc, char **argv)
{
    return sweep_main(argc, argv);
}
