/** A session token, which one assertion has paid for. Protect it like a session cookie. */
export interface SessionToken {
  /** The value of the header `X-App-Attest-Token`. */
  readonly text: string;
  /**
   * The time until which it may be sent, in milliseconds since 1970. A tenth of its life is left
   * then, for requests on their way.
   */
  readonly until: number;
  /** The value of the header that it is bound to; null if it is bound to none. */
  readonly binding: string | null;
  /** The key that paid for it. */
  readonly keyId: string | null;
}

/** The session token that the client has, and those that it fetches. */
export class SessionTokens {
  private current: SessionToken | null = null;
  /** The tokens that are being fetched, by the values that they are bound to. */
  private readonly underWay = new Map<string | null, Promise<SessionToken>>();

  constructor(
    private readonly now: () => number,
    private readonly fetchToken: (binding: string | null) => Promise<SessionToken>,
    /** True if the client still has this key. */
    private readonly isCurrent: (keyId: string | null) => Promise<boolean>,
  ) {}

  /** Callers at the same time share one. */
  async token(binding: string | null): Promise<SessionToken> {
    const { current } = this;
    if (current !== null && current.until > this.now() && current.binding === binding) {
      return current;
    }
    const known = this.underWay.get(binding);
    if (known !== undefined) return known;
    const fetching = this.fetchToken(binding).then((token) => this.kept(token));
    this.underWay.set(binding, fetching);
    try {
      return await fetching;
    } finally {
      this.underWay.delete(binding);
    }
  }

  /** The key may have been given up while its token was on its way. */
  private async kept(token: SessionToken): Promise<SessionToken> {
    if (await this.isCurrent(token.keyId)) this.current = token;
    return token;
  }

  /** The token with this text; null if the client does not have it, or no longer. */
  named(text: string | null): SessionToken | null {
    return this.current?.text === text ? this.current : null;
  }

  /** Forgets a token that was refused, unless it was replaced already. */
  giveUp(token: SessionToken | null): void {
    if (this.current === token) this.current = null;
  }

  clear(): void {
    this.current = null;
  }
}
