import { SECONDS_MAX } from "./retries.js";

/** The most challenges: more requests are hardly under way at once. */
const COUNT_MAX = 64;
/** The time that a request may need to reach the gateway, in milliseconds. */
const MARGIN = 10_000;

/** The challenges that answers brought, each for one request. */
export class ChallengeCache {
  private kept: { readonly token: string; readonly until: number }[] = [];
  /** The life of a challenge in milliseconds, as the gateway last stated it. */
  private lifetime = 120_000;

  learn(seconds: number): void {
    this.lifetime = Math.min(seconds, SECONDS_MAX) * 1000;
  }

  keep(token: string | null, now: number): void {
    if (token === null || token === "") return;
    this.kept.push({ token, until: now + this.lifetime - MARGIN });
    if (this.kept.length > COUNT_MAX) this.kept.shift();
  }

  /** Takes out the newest one; null if none is worth trying. */
  take(now: number): string | null {
    for (let newest = this.kept.pop(); newest !== undefined; newest = this.kept.pop()) {
      // A longer life than any means that the clock was set back.
      if (newest.until > now && newest.until - now <= this.lifetime) return newest.token;
    }
    return null;
  }

  /** Forgets all challenges, because they belong to a key that is gone. */
  clear(): void {
    this.kept = [];
  }
}
