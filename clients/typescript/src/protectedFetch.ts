import type { AttestClient, Proof } from "./client.js";

/** A function with the arguments of `fetch`, and the proof in `init`. */
export type ProtectedFetch = (
  input: string | URL | Request,
  init?: RequestInit & { readonly proof?: Proof },
) => Promise<Response>;

/**
 * Wraps a client as a `fetch`. It proves requests to the gateway's origin and passes all others on
 * unchanged, so that no other server sees a proof.
 *
 * @param others Sends the other requests; the global `fetch` if it is missing.
 */
export function protectedFetch(
  client: AttestClient,
  others: (input: string | URL | Request, init?: RequestInit) => Promise<Response> =
    (input, init) => fetch(input, init),
): ProtectedFetch {
  return (input, init = {}) => {
    const { proof, ...plain } = init;
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    return client.covers(url) ? client.fetch(input, plain, proof) : others(input, plain);
  };
}
