/** A key that an Android phone has attested. */
export interface AttestedKey {
  /** Base64 of the SHA-256 of the public key's 65 bytes. */
  readonly keyId: string;
  /** The certificates, each as base64 of its DER, the key's own first. */
  readonly chain: readonly string[];
}

/** Apple's App Attest. Each method throws a `KeyError`. */
export interface AppleKeys {
  readonly platform: "apple";
  /** True if this process may use App Attest. It may not on simulators. */
  isSupported(): boolean | Promise<boolean>;
  /** Makes a key and returns its key ID. */
  generateKey(): Promise<string>;
  /** Returns base64 of the attestation object over the SHA-256 of the challenge's characters. */
  attestKey(keyId: string, challenge: string): Promise<string>;
  /** Returns base64 of an assertion over the SHA-256 of the client data in UTF-8. */
  generateAssertion(keyId: string, clientData: string): Promise<string>;
}

/** The Android Keystore. Each method throws a `KeyError`. */
export interface AndroidKeys {
  readonly platform: "android";
  /** True if this system can attest keys. */
  isSupported(): boolean | Promise<boolean>;
  /**
   * Makes a P-256 key in secure hardware, in place of any key of this alias.
   *
   * @param challenge Base64 of the attestation challenge, which has at most 128 bytes.
   */
  create(alias: string, challenge: string): Promise<AttestedKey>;
  /** Returns base64 of the ECDSA signature in DER over the SHA-256 of the client data in UTF-8. */
  sign(alias: string, clientData: string): Promise<string>;
  delete(alias: string): Promise<void>;
}

/** The first port: the keys of the device. */
export type Keys = AppleKeys | AndroidKeys;

/** The second port: a place for one text of at most 64 KiB, which is saved whole or not at all. */
export interface TextStore {
  /** Returns the text that was saved last; null if there is none. */
  load(): Promise<string | null>;
  save(text: string): Promise<void>;
}

/** The third port: `fetch`, which must not follow redirections for `redirect: "manual"`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The SHA-256 of some bytes. */
export type Digest = (bytes: Uint8Array) => Promise<ArrayBuffer | Uint8Array>;

/** Time and randomness, which tests control. The client reads no other clock. */
export interface Clock {
  /** The time in milliseconds since 1970. */
  now(): number;
  /** Waits for this many milliseconds. */
  sleep(milliseconds: number): Promise<void>;
  /** A number from 0 to 1. */
  chance(): number;
}

/** The versions that failure reports name. Unknown ones are empty. */
export interface AppInfo {
  /** The bundle identifier or the package name. */
  readonly name: string;
  /** `CFBundleVersion` or `versionCode`. */
  readonly version: string;
  /** The version of the system, such as 18.2. */
  readonly system: string;
}

/** The parts of a client. */
export interface Parts {
  readonly keys: Keys;
  /**
   * The state of the enrolment. It belongs to one installation on one device: keep it out of
   * backups, because keys are in none.
   */
  readonly store: TextStore;
  /**
   * The ticket that the gateway gives with each enrolment, which lets a reinstalled app remain one
   * installation. Keep it where it survives a reinstall. Without a store, a reinstall is another
   * installation.
   */
  readonly tickets?: TextStore;
  /** The global `fetch` if it is missing. */
  readonly fetch?: Fetch;
  /** The client's own SHA-256 if it is missing. Give a native one to apps with large bodies. */
  readonly digest?: Digest;
  readonly clock?: Clock;
  readonly app?: AppInfo;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  chance: () => Math.random(),
};

/** Keeps a text for as long as the process runs: for tests. */
export class MemoryStore implements TextStore {
  constructor(private text: string | null = null) {}

  load(): Promise<string | null> {
    return Promise.resolve(this.text);
  }

  save(text: string): Promise<void> {
    this.text = text;
    return Promise.resolve();
  }
}
