// The shapes of `espalier/testing`.

/** A call of a tool. */
export interface TestedCall {
  name: string;
  arguments?: Record<string, unknown>;
}

/** A prompt that is asked for. */
export interface TestedPrompt {
  name: string;
  arguments?: Record<string, string>;
}

/** What a completion is asked for. */
export interface TestedCompletion {
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  argument: { name: string; value: string };
}

/** A tenant, by what its requests look like and what only it may see. */
export interface TestedTenant {
  /** What it is called in what is found. */
  id: string;
  /** The headers that make a request one of this tenant. Their values are in no text that the kit gives. */
  headers: Record<string, string>;
  /**
   * Texts that this tenant alone may see: names of tools, a phrase of a document, an id. At least one of them has to be in
   * what the tenant itself gets, as a check that looks for what is never sent proves nothing. None may be part of one of
   * another tenant.
   */
  markers: string[];
  /**
   * Tools to call. By default those that the tenant lists whose arguments may all be left out, and that do not say of
   * themselves that they destroy something; at most 10. Give an empty list for none.
   */
  calls?: TestedCall[];
  /** Resources to read; by default those that the tenant lists, at most 10. */
  reads?: string[];
  /** Prompts to get; by default those that the tenant lists whose arguments may all be left out, at most 10. */
  prompts?: TestedPrompt[];
  /** Completions to ask for; none by default. */
  completions?: TestedCompletion[];
  /** A call that takes a while, some 300 ms or more: another tenant tries to cancel it. Without one that is not tried. */
  slowCall?: TestedCall;
}

/** Where a server is that runs elsewhere, or that another package made. */
export interface IsolationEndpoints {
  /** Of Streamable HTTP: driven in both eras, as far as the server has them. */
  streamableHttp?: string | URL;
  /** Of the stream of HTTP+SSE. */
  sse?: string | URL;
  /** `ws:` or `wss:`. */
  webSocket?: string | URL;
}

/** The options of `assertTenantIsolation`. */
export interface IsolationOptions {
  /**
   * Called once per tenant and transport while every tenant listens: makes the server tell that tenant something, such as
   * an update, a log message, a change of its lists. May be a promise.
   */
  stir?: (tenantId: string) => unknown;
  /**
   * The headers of callers that are no tenant. By default one without any header, and one for each tenant with headers
   * that are slightly wrong.
   */
  strangers?: Record<string, string>[];
  /** Certificates, as PEM, that the server's is trusted by; those of the system by default. */
  ca?: string;
  /** How long one answer may take; 5,000 by default. */
  requestTimeoutMs?: number;
  /** How long all of it may take; 60,000 by default. */
  timeoutMs?: number;
  /** How long is waited for what should not come; 150 by default. */
  settleMs?: number;
}

/** What a server was reached over. */
export type TestedTransport = 'streamable-http' | 'streamable-http-stateless' | 'sse' | 'websocket' | 'in-process';

/**
 * What was found:
 *
 * - `content`: somebody was sent a marker of another tenant, or the id of a request, of a session, or of a progress that
 *   was another tenant's
 * - `existence`: what is another tenant's is refused in other words than what is not there
 * - `session`: another tenant's session was used, or could be guessed
 * - `cancellation`: another tenant's request was cancelled
 * - `notification`: somebody was told of what happened to another tenant
 */
export type TenantLeakKind = 'content' | 'existence' | 'session' | 'cancellation' | 'notification';

/** One leak. */
export interface TenantLeak {
  kind: TenantLeakKind;
  transport: TestedTransport;
  /** The method, or what was done. */
  operation: string;
  /** The tenant that got what is not its own, or could do what it must not; `a stranger` for somebody who is none. */
  tenant: string;
  /** The tenant whose it is. */
  of: string;
  /** What came, cut to what shows it, without the values of headers. */
  evidence: string;
}

/** What was driven. */
export interface IsolationReport {
  transports: TestedTransport[];
  /** How many requests were sent. */
  requests: number;
  /** What could not be tried, and why. */
  skipped: string[];
}
