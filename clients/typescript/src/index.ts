export { type Abortable, AttestClient, advisesUpdate, type Proof } from "./client.js";
export type { Configuration, HeaderNames } from "./configuration.js";
export {
  ClientError, InvalidRequest, KeyError, type KeyFailure, Refused, StateError, TryLater,
  UnexpectedAnswer, Unsupported,
} from "./errors.js";
export { type AppIntegrity, expoAppIntegrity } from "./expoAppIntegrity.js";
export {
  type HttpAdapter, type HttpAnswer, type HttpCancelToken, type HttpConfig, type HttpInstance,
  interceptor,
} from "./interceptor.js";
export {
  type AndroidKeys, type AppInfo, type AppleKeys, type AttestedKey, type Clock, type Digest,
  type Fetch, type Keys, MemoryStore, type Parts, type TextStore,
} from "./ports.js";
export { type ProtectedFetch, protectedFetch } from "./protectedFetch.js";
export type { Action, Refusal } from "./refusal.js";
export type { RetryAdvice, RetryPolicy } from "./retries.js";
export type { SessionToken } from "./tokens.js";
