/* embed.c - at build time: a file as the bytes of an array. embed FILE >HEADER */
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    int byte, column = 0;

    if (!file)
        return 1;
    printf("static const unsigned char hook_bytes[] = {");
    while ((byte = getc(file)) != EOF)
        printf("%s%d,", column++ % 24 ? "" : "\n    ", byte);
    printf("\n};\n");
    return ferror(file) || fclose(file) || fflush(stdout) ? 1 : 0;
}
