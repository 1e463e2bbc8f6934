# SPDX-License-Identifier: Apache-2.0
"""What the report of each sample must say: planted findings, and which twin proves which gain."""

A100 = "NVIDIA A100-SXM4-80GB"

# The simulated driver really moves the bytes, and a slow host is slower at that than a fast link is
# in the model. So the link is one of four lanes here, and batches are a quarter of the samples' own.
LINK_GBS = 6.45
MIB = 1 << 20

# id, which of its evidence must be what. A pair is a range.
PAGEABLE = {"direction": "H2D", "copies_per_step": 1,
            "pageable_gbs": (0.37 * LINK_GBS, 0.41 * LINK_GBS),
            "pinned_gbs": (0.95 * LINK_GBS, 1.01 * LINK_GBS), "pinned_rate_from": "this run"}
UPLOAD_GBS = (0.37 * LINK_GBS, 0.55 * LINK_GBS)  # with the labels, which are pinned


def unpadded(extent, padded, aligned_bytes):
    return ("GT201", {"extent": extent, "padded_extent": padded, "aligned_bytes": aligned_bytes,
                      "type": "bf16"})


VOCABULARY = unpadded(50257, 50304, 2)
FEED_FORWARD = unpadded(10922, 10944, 4)
CHANNELS = ("GT201", {"extent": 34, "padded_extent": 40, "aligned_bytes": 4, "shapes": 3})
LOSS = ("GT103", {"copy_bytes": 4, "direction": "D2H", "waits_per_step": (0.95, 1.05)})
TIMING = ("GT503", {"waits_per_step": (0.95, 1.05)})

# sample -> options of all runs; planted findings; cures: options -> the finding whose range holds the step time gained,
# None: the range of all findings together.
CASES = {
    "pageable_copy": {
        "options": "--mib 4",
        "planted": [("GT102", dict(PAGEABLE, bytes_per_step=4 * MIB)),
                    ("GT101", {"h2d_bytes_per_step": 5 * MIB, "h2d_achieved_gbs": UPLOAD_GBS})],
        "cures": {"--cured": None, "--pinned": "GT102"},
        "per_step": {"h2d_bytes_per_step": 5 * MIB, "d2h_bytes_per_step": 0,
                     "launches_per_step": 17},
    },
    "unpadded_gemm": {
        "planted": [VOCABULARY, FEED_FORWARD],
        "cures": {"--cured": None, "--vocabulary 50304": VOCABULARY,
                  "--feed-forward 10944": FEED_FORWARD},
        "silent": ["--cured --batch 31", "--cured --batch 4095"],
        "per_step": {"h2d_bytes_per_step": 0, "launches_per_step": 9},
    },
    "unpadded_conv": {
        "planted": [CHANNELS],
        "cures": {"--cured": None, "--channels 40": CHANNELS},
        "silent": ["--cured --batch 255 --size 57"],
        "per_step": {"h2d_bytes_per_step": 0, "launches_per_step": 3},
    },
    "launch_bound": {
        "planted": [("GT501", {"kernels_per_step": 1000, "median_launch_interval_us": (10, 40),
                               "median_kernel_us": (4, 5)})],
        "cures": {"--cured": None},
        "per_step": {"h2d_bytes_per_step": 0, "d2h_bytes_per_step": 4, "launches_per_step": 1000},
    },
    "sync_in_loop": {
        "planted": [LOSS, TIMING],
        "cures": {"--cured": None, "--untimed": "GT503", "--late-loss": "GT103"},
        "per_step": {"d2h_bytes_per_step": 4, "launches_per_step": (15.5, 16.5)},
    },
    "starved_input": {
        "planted": [("GT502", {"waits_per_step": (0.95, 1.05), "upload_bytes": 256 << 10})],
        "cures": {"--cured": None},
        "per_step": {"h2d_bytes_per_step": 256 << 10, "d2h_bytes_per_step": 0,
                     "launches_per_step": 13},
    },
    # No cure: the simulated driver really moves a checkpoint's bytes, which takes a busy machine longer than the
    # link would take, so whether the next steps hide it depends on the machine.
    "periodic_checkpoint": {
        "planted": [("GT504", {"period_steps": 15, "looks_like": "checkpoint"})],
        "cures": {},
        "per_step": {"h2d_bytes_per_step": 0, "d2h_bytes_per_step": 0, "launches_per_step": 18},
    },
    "train_loop": {
        "options": "--features 8",
        "planted": [VOCABULARY, FEED_FORWARD, LOSS, TIMING,
                    ("GT102", dict(PAGEABLE, bytes_per_step=8 * MIB)),
                    ("GT101", {"h2d_bytes_per_step": 9 * MIB, "h2d_achieved_gbs": UPLOAD_GBS})],
        "cures": {"--cured": None, "--vocabulary 50304": VOCABULARY,
                  "--feed-forward 10944": FEED_FORWARD, "--overlap": "GT102"},
        "per_step": {"h2d_bytes_per_step": 9 * MIB, "d2h_bytes_per_step": 4,
                     "launches_per_step": 73},
    },
}
