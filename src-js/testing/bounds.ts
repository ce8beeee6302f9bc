// The numbers of the kit.

/** How many leaks are kept with their evidence; further ones are counted. */
export const KEPT_LEAKS = 50;

/** How many of them the message of the error shows. */
export const SHOWN_LEAKS = 10;

/** Characters of evidence on each side of a marker. */
export const AROUND = 80;

/** Characters of what is shown where there is no marker. */
export const LONGEST_EVIDENCE = 300;

/** How many of a tenant's own things of a kind are used when the caller names none. */
export const OWN_ITEMS = 10;

/** How many of another tenant's things of a kind are tried by each tenant. */
export const FOREIGN_ITEMS = 10;

/** How many of them each tenant tries at the same time. */
export const FOREIGN_AT_ONCE = 4;

/** Pages of one list. */
export const MOST_PAGES = 20;

/** Sessions that are opened to see whether their ids can be guessed. */
export const GUESSED_SESSIONS = 3;

/** Characters of one reply, or of one event of a stream; more is not read. */
export const LONGEST_MESSAGE = 4_194_304;

/** Notifications that one client keeps. */
export const KEPT_NOTIFICATIONS = 1000;

/** A marker that is shorter is in too much by chance. */
export const SHORTEST_MARKER = 4;

/** Milliseconds; see the options. */
export const REQUEST_TIMEOUT = 5000;
export const TIMEOUT = 60_000;
export const SETTLE = 150;

/** Milliseconds between two looks at what was heard. */
export const POLL = 10;

/** Milliseconds that saying goodbye may take. */
export const FAREWELL = 1000;

/** How often a request of another is cancelled while it runs, and the milliseconds between two attempts. */
export const CANCELLATIONS = 20;
export const BETWEEN_CANCELLATIONS = 25;
