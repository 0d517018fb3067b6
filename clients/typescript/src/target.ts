import { InvalidRequest } from "./errors.js";

/** The parts of a URL as they are sent. */
export interface Target {
  /** Scheme, host and port, in lower case and without the scheme's own port. */
  readonly origin: string;
  readonly path: string;
  readonly query: string;
}

const URL_PARTS = /^(https?):\/\/([^/?#]+)([^?#]*)(?:\?([^#]*))?(?:#.*)?$/i;
/** The characters of RFC 3986, which every platform sends as they are. */
const PATH = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;
/** Some platforms send an apostrophe in a query in another spelling. */
const QUERY = /^(?:[A-Za-z0-9\-._~!$&()*+,;=:@/?]|%[0-9A-Fa-f]{2})*$/;
const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * The parts of a URL, which is signed before the platform's `fetch` sees it. So a URL that `fetch`
 * would send in another spelling is refused here. React Native's own `URL` is not complete enough
 * to tell.
 */
export function targetOf(url: string): Target {
  const match = URL_PARTS.exec(url);
  if (match === null) throw new InvalidRequest("not an http or https URL");
  const [, scheme = "", authority = "", path = "", query = ""] = match;
  if (!PATH.test(path) || !QUERY.test(query)) {
    throw new InvalidRequest("the URL is not percent-encoded");
  }
  if (DOT_SEGMENT.test(path)) throw new InvalidRequest("the path has a dot segment");
  const name = scheme.toLowerCase();
  const port = name === "https" ? /:443$/ : /:80$/;
  return {
    origin: `${name}://${authority.toLowerCase().replace(port, "")}`,
    path: path === "" ? "/" : path,
    query,
  };
}
