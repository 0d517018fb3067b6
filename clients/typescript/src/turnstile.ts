import { throwIfAborted } from "./abort.js";

/** Runs at most a given number of tasks at once, in the order in which they came. */
export class Turnstile {
  private readonly waiting: (() => void)[] = [];

  constructor(private freeCount: number) {}

  /** Runs `body` as soon as there is a place. A task whose signal is aborted leaves the queue. */
  async pass<Result>(
    body: () => Promise<Result>, signal?: AbortSignal | null,
  ): Promise<Result> {
    await this.enter(signal);
    try {
      return await body();
    } finally {
      this.leave();
    }
  }

  private enter(signal: AbortSignal | null | undefined): Promise<void> {
    if (this.freeCount > 0) {
      this.freeCount--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const abort = () => {
        signal?.removeEventListener("abort", abort);
        const index = this.waiting.indexOf(enter);
        if (index >= 0) this.waiting.splice(index, 1);
        try {
          throwIfAborted(signal);
        } catch (error) {
          reject(error);
        }
      };
      this.waiting.push(enter);
      signal?.addEventListener("abort", abort);
    });
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) {
      this.freeCount++;
    } else {
      next();
    }
  }
}
