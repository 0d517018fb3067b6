/** The longest wait that an answer can ask for, in seconds. */
export const SECONDS_MAX = 7 * 24 * 3600;
/** The most attempts that an answer can ask for. */
const ATTEMPTS_MAX = 10;

/**
 * The advice in an answer of the gateway about another try: its member `retry`. Values that make
 * no sense are ignored, whichever server wrote the answer. Times are seconds.
 */
export interface RetryAdvice {
  readonly after?: number;
  readonly backoff?: number;
  readonly longest?: number;
  readonly max?: number;
  readonly new_key_after?: number;
}

const BOUNDS: Readonly<Record<keyof RetryAdvice, readonly [number, number]>> = {
  after: [0, SECONDS_MAX],
  backoff: [1, 10],
  longest: [0, SECONDS_MAX],
  max: [0, ATTEMPTS_MAX - 1],
  new_key_after: [0, SECONDS_MAX],
};

/** The advice in a member `retry`; null if it is no object. */
export function adviceOf(member: unknown): RetryAdvice | null {
  if (typeof member !== "object" || member === null) return null;
  const advice: Partial<Record<keyof RetryAdvice, number>> = {};
  for (const name of Object.keys(BOUNDS) as (keyof RetryAdvice)[]) {
    const value = (member as Record<string, unknown>)[name];
    if (typeof value !== "number" || !Number.isFinite(value)) continue;
    const [least, most] = BOUNDS[name];
    advice[name] = Math.min(Math.max(value, least), most);
  }
  return advice;
}

/** The rules for trying again after a failure. The advice in answers has precedence. */
export interface RetryPolicy {
  /** The most attempts for one request. */
  readonly attemptsMax: number;
  /** The longest wait of a request. If a longer one is needed, the request fails. */
  readonly waitMax: number;
  /** The first wait. Each failure after it doubles the wait. */
  readonly initialWait: number;
  /** The longest wait between two attempts to enrol. */
  readonly enrolmentWaitMax: number;
  /** The time before a second new key may be made, because Apple counts keys. */
  readonly newKeyInterval: number;
}

export const defaultRetries: RetryPolicy = {
  attemptsMax: 3,
  waitMax: 10,
  initialWait: 1,
  enrolmentWaitMax: 6 * 3600,
  newKeyInterval: 3600,
};

/**
 * The seconds to wait after this many failures in a row: the longer of `retryAfter` and the first
 * wait, which each further failure multiplies up to the limit. Up to a quarter is added at random,
 * so that devices that failed together do not return together.
 */
export function waitAfter(
  policy: RetryPolicy,
  failures: number,
  limit: number,
  given: { readonly retryAfter: number | null; readonly advice: RetryAdvice | null },
  chance: number,
): number {
  const first = given.advice?.after ?? policy.initialWait;
  const factor = given.advice?.backoff ?? 2;
  const longest = Math.max(given.advice?.longest ?? limit, first);
  const count = Math.min(Math.max(failures - 1, 0), 30);
  const wait = Math.min(first * factor ** count, longest);
  return Math.max(given.retryAfter ?? 0, wait) * (1 + chance / 4);
}

/** The longest wait for another key, unless the gateway advises a longer one. */
const KEY_WAIT_MAX = 24 * 3600;

/**
 * The seconds to wait for another key after this many useless ones in a row. The first of them was
 * replaced at once. The cause may last, and Apple counts keys, so each further one doubles the
 * wait.
 */
export function keyWaitAfter(uselessKeys: number, interval: number): number {
  const count = Math.min(Math.max(uselessKeys - 2, 0), 30);
  return Math.max(Math.min(interval * 2 ** count, KEY_WAIT_MAX), interval);
}

export function attemptsOf(policy: RetryPolicy, advice: RetryAdvice | null): number {
  return advice?.max === undefined ? policy.attemptsMax : 1 + Math.floor(advice.max);
}
