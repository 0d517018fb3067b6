/**
 * The time for an answer of the gateway's own endpoints, in milliseconds. They need well under a
 * second, so this is for slow networks. Without it, an answer that never comes would block every
 * request that waits for the enrolment, because `fetch` on Android has no limit of its own.
 */
export const ANSWER_TIME_MAX = 60_000;

/** The time for a failure report, in milliseconds: the caller waits for its error meanwhile. */
export const REPORT_TIME_MAX = 5_000;

/** Throws what `fetch` throws if the signal is aborted. */
export function throwIfAborted(signal: AbortSignal | null | undefined): void {
  if (signal?.aborted !== true) return;
  throw signal.reason ?? Object.assign(new Error("aborted"), { name: "AbortError" });
}

/** The result of a task, or the signal's error once it is aborted. The task itself goes on. */
export function raced<Result>(
  signal: AbortSignal | null | undefined, task: Promise<Result>,
): Promise<Result> {
  if (signal === null || signal === undefined) return task;
  return new Promise((resolve, reject) => {
    const abort = () => {
      try {
        throwIfAborted(signal);
      } catch (error) {
        reject(error);
      }
    };
    signal.addEventListener("abort", abort);
    abort();
    task.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Runs a task, and aborts its signal after so many milliseconds. */
export async function inTime<Result>(
  task: (signal: AbortSignal) => Promise<Result>,
  timeMax: number = ANSWER_TIME_MAX,
): Promise<Result> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // First, because the task's own error would say less.
      reject(Object.assign(new Error("the gateway timed out"), { name: "TimeoutError" }));
      controller.abort();
    }, timeMax);
  });
  try {
    return await Promise.race([limit, task(controller.signal)]);
  } finally {
    clearTimeout(timer);
  }
}
