/*
 * seccomp_calls.h - the numbers of the calls that seccomp_rules.h names.
 *
 * One row per call, one column per architecture; ABSENT where that one never
 * had the call. A name with @ is a range. tests/seccomp compares the rows with
 * the newest kernel headers that the machine has.
 */
#ifndef CONFINE_LINKS_SECCOMP_CALLS_H
#define CONFINE_LINKS_SECCOMP_CALLS_H

#include "seccomp_rules.h"

struct seccomp_range {
    int64_t first, last;
};

struct seccomp_call {
    const char *name;
    struct seccomp_range x86_64, aarch64;
};

#define ABSENT -1, -1

static const struct seccomp_call seccomp_calls[] = {
    {"@sentinel", {SECCOMP_SENTINEL_NR, SECCOMP_SENTINEL_NR}, {SECCOMP_SENTINEL_NR, SECCOMP_SENTINEL_NR}},
    {"@newer", {SECCOMP_NEWEST_NR + 1, UINT32_MAX}, {SECCOMP_NEWEST_NR + 1, UINT32_MAX}},
    /* Numbers that these architectures have skipped so far; a call that gets one of them later is new. */
    {"@unassigned", {337, 423}, {295, 423}},
    {"open", {2, 2}, {ABSENT}},
    {"ioctl", {16, 16}, {29, 29}},
    {"shmget", {29, 29}, {194, 194}},
    {"shmat", {30, 30}, {196, 196}},
    {"shmctl", {31, 31}, {195, 195}},
    {"socket", {41, 41}, {198, 198}},
    {"sendto", {44, 44}, {206, 206}},
    {"sendmsg", {46, 46}, {211, 211}},
    {"socketpair", {53, 53}, {199, 199}},
    {"clone", {56, 56}, {220, 220}},
    {"semget", {64, 64}, {190, 190}},
    {"semop", {65, 65}, {193, 193}},
    {"semctl", {66, 66}, {191, 191}},
    {"shmdt", {67, 67}, {197, 197}},
    {"msgget", {68, 68}, {186, 186}},
    {"msgsnd", {69, 69}, {189, 189}},
    {"msgrcv", {70, 70}, {188, 188}},
    {"msgctl", {71, 71}, {187, 187}},
    {"truncate", {76, 76}, {45, 45}},
    {"mkdir", {83, 83}, {ABSENT}},
    {"creat", {85, 85}, {ABSENT}},
    {"chmod", {90, 90}, {ABSENT}},
    {"fchmod", {91, 91}, {52, 52}},
    {"chown", {92, 92}, {ABSENT}},
    {"fchown", {93, 93}, {55, 55}},
    {"lchown", {94, 94}, {ABSENT}},
    {"ptrace", {101, 101}, {117, 117}},
    {"syslog", {103, 103}, {116, 116}},
    {"mknod", {133, 133}, {ABSENT}},
    {"uselib", {134, 134}, {ABSENT}},
    {"personality", {135, 135}, {92, 92}},
    {"setpriority", {141, 141}, {140, 140}},
    {"sched_setparam", {142, 142}, {118, 118}},
    {"sched_setscheduler", {144, 144}, {119, 119}},
    {"vhangup", {153, 153}, {58, 58}},
    {"modify_ldt", {154, 154}, {ABSENT}},
    {"pivot_root", {155, 155}, {41, 41}},
    {"chroot", {161, 161}, {51, 51}},
    {"acct", {163, 163}, {89, 89}},
    {"settimeofday", {164, 164}, {170, 170}},
    {"mount", {165, 165}, {40, 40}},
    {"umount2", {166, 166}, {39, 39}},
    {"swapon", {167, 167}, {224, 224}},
    {"swapoff", {168, 168}, {225, 225}},
    {"reboot", {169, 169}, {142, 142}},
    {"sethostname", {170, 170}, {161, 161}},
    {"setdomainname", {171, 171}, {162, 162}},
    {"iopl", {172, 172}, {ABSENT}},
    {"ioperm", {173, 173}, {ABSENT}},
    {"create_module", {174, 174}, {ABSENT}},
    {"init_module", {175, 175}, {105, 105}},
    {"delete_module", {176, 176}, {106, 106}},
    {"get_kernel_syms", {177, 177}, {ABSENT}},
    {"query_module", {178, 178}, {ABSENT}},
    {"quotactl", {179, 179}, {60, 60}},
    {"nfsservctl", {180, 180}, {42, 42}},
    {"sched_setaffinity", {203, 203}, {122, 122}},
    {"lookup_dcookie", {212, 212}, {18, 18}},
    {"semtimedop", {220, 220}, {192, 192}},
    {"clock_settime", {227, 227}, {112, 112}},
    {"mq_open", {240, 240}, {180, 180}},
    {"mq_unlink", {241, 241}, {181, 181}},
    {"mq_timedsend", {242, 242}, {182, 182}},
    {"mq_timedreceive", {243, 243}, {183, 183}},
    {"mq_notify", {244, 244}, {184, 184}},
    {"mq_getsetattr", {245, 245}, {185, 185}},
    {"kexec_load", {246, 246}, {104, 104}},
    {"add_key", {248, 248}, {217, 217}},
    {"request_key", {249, 249}, {218, 218}},
    {"keyctl", {250, 250}, {219, 219}},
    {"ioprio_set", {251, 251}, {30, 30}},
    {"migrate_pages", {256, 256}, {238, 238}},
    {"openat", {257, 257}, {56, 56}},
    {"mkdirat", {258, 258}, {34, 34}},
    {"mknodat", {259, 259}, {33, 33}},
    {"fchownat", {260, 260}, {54, 54}},
    {"fchmodat", {268, 268}, {53, 53}},
    {"unshare", {272, 272}, {97, 97}},
    {"move_pages", {279, 279}, {239, 239}},
    {"perf_event_open", {298, 298}, {241, 241}},
    {"fanotify_init", {300, 300}, {262, 262}},
    {"prlimit64", {302, 302}, {261, 261}},
    {"name_to_handle_at", {303, 303}, {264, 264}},
    {"open_by_handle_at", {304, 304}, {265, 265}},
    {"sendmmsg", {307, 307}, {269, 269}},
    {"setns", {308, 308}, {268, 268}},
    {"process_vm_readv", {310, 310}, {270, 270}},
    {"process_vm_writev", {311, 311}, {271, 271}},
    {"kcmp", {312, 312}, {272, 272}},
    {"finit_module", {313, 313}, {273, 273}},
    {"sched_setattr", {314, 314}, {274, 274}},
    {"kexec_file_load", {320, 320}, {294, 294}},
    {"bpf", {321, 321}, {280, 280}},
    {"userfaultfd", {323, 323}, {282, 282}},
    {"io_uring_setup", {425, 425}, {425, 425}},
    {"io_uring_enter", {426, 426}, {426, 426}},
    {"io_uring_register", {427, 427}, {427, 427}},
    {"open_tree", {428, 428}, {428, 428}},
    {"move_mount", {429, 429}, {429, 429}},
    {"fsopen", {430, 430}, {430, 430}},
    {"fsconfig", {431, 431}, {431, 431}},
    {"fsmount", {432, 432}, {432, 432}},
    {"fspick", {433, 433}, {433, 433}},
    {"clone3", {435, 435}, {435, 435}},
    {"openat2", {437, 437}, {437, 437}},
    {"pidfd_getfd", {438, 438}, {438, 438}},
    {"process_madvise", {440, 440}, {440, 440}},
    {"mount_setattr", {442, 442}, {442, 442}},
    {"quotactl_fd", {443, 443}, {443, 443}},
    {"process_mrelease", {448, 448}, {448, 448}},
    {"fchmodat2", {452, 452}, {452, 452}},
    {"setxattrat", {463, 463}, {463, 463}},
    {"removexattrat", {466, 466}, {466, 466}},
    {"open_tree_attr", {467, 467}, {467, 467}},
    {"file_setattr", {469, 469}, {469, 469}},
    {"listns", {470, 470}, {470, 470}},
};

#undef ABSENT

#endif
