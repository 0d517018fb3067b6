import { base64, utf8 } from "./bytes.js";
import { InvalidRequest } from "./errors.js";
import type { Digest } from "./ports.js";
import { members } from "./refusal.js";
import type { AppRequest } from "./request.js";
import { sha256 } from "./sha256.js";
import { targetOf } from "./target.js";

/** The most bytes of an attestation challenge that the Android Keystore takes. */
const ATTESTATION_CHALLENGE_MAX = 128;

/** The JSON that is signed and sent in a header. */
export async function headerClientData(
  request: AppRequest, challenge: string, digest: Digest = async (bytes) => sha256(bytes),
): Promise<string> {
  const { path, query } = targetOf(request.url);
  const body = request.body ?? "";
  const bytes = typeof body === "string" ? utf8(body) : body;
  return JSON.stringify({
    challenge,
    method: request.method,
    path,
    query,
    bodySHA256: base64(new Uint8Array(await digest(bytes))),
  });
}

/**
 * The body with the challenge as its first member, which is signed as it is. All other characters
 * stay as the app wrote them.
 */
export function bodyClientData(request: AppRequest, challenge: string, member: string): string {
  const { body } = request;
  if (typeof body !== "string") throw new InvalidRequest("the signed body is not text");
  const object = members(body);
  if (object === null) throw new InvalidRequest("the signed body is not a JSON object");
  if (member in object) throw new InvalidRequest(`the body has a member ${member} already`);
  const start = body.indexOf("{") + 1;
  const first = `${JSON.stringify(member)}:${JSON.stringify(challenge)}`;
  const comma = Object.keys(object).length === 0 ? "" : ",";
  return body.slice(0, start) + first + comma + body.slice(start);
}

/** Base64 of the token's bytes, or of their SHA-256 if they are too many. */
export function attestationChallenge(token: string): string {
  const bytes = utf8(token);
  return base64(bytes.length <= ATTESTATION_CHALLENGE_MAX ? bytes : sha256(bytes));
}
