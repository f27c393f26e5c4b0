/* confine-gateway.c - nothing but main(): the tests call gateway_main() as well. */
#include "network/gateway.h"

int main(int argc, char **argv)
{
    return gateway_main(argc, argv);
}
