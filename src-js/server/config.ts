// The options of a server. What is data is judged by the core; here it is told what it is.

import type {
  ArgumentValidation,
  HarnessToolExecutor,
  MCPServerConfig,
  RuntimeLike,
  ServerLogger,
} from '../types/server.js';
import { type Bag, assertBag, assertNumber, assertType, encodeData, isHost } from './check.js';
import { LOG_LEVELS, stderrLogger } from './log.js';
import { DEFAULT_MAX_TOOLS } from './projection.js';
import { VALIDATIONS } from './registry.js';

const OPTIONS = Object.keys({
  name: 'string',
  version: 'string',
  title: 'string',
  websiteUrl: 'string',
  icons: 'data',
  instructions: 'string',
  runtime: 'host',
  nativeExecution: 'boolean',
  resolveRuntime: 'function',
  allowUntenantedSessions: 'boolean',
  validateArguments: 'data',
  maxTools: 'number',
  pageSize: 'number',
  cacheTtlMs: 'number',
  cacheScope: 'data',
  protocolVersions: 'data',
  tenantLimits: 'data',
  requestStateSecret: 'bytes',
  logger: 'host',
} satisfies Record<keyof MCPServerConfig, string>);

const TEXTS = ['name', 'version', 'title', 'websiteUrl', 'instructions'] as const;
const FLAGS = ['nativeExecution', 'allowUntenantedSessions'] as const;
const NUMBERS = ['maxTools', 'pageSize', 'cacheTtlMs'] as const;
const LISTS = ['icons', 'protocolVersions'] as const;

/** What the core reads of the options. */
const DATA = [...TEXTS, ...FLAGS, ...LISTS, 'pageSize', 'cacheTtlMs', 'cacheScope', 'tenantLimits'] as const;

export interface Settings {
  readonly runtime: RuntimeLike | undefined;
  readonly executor: HarnessToolExecutor | undefined;
  readonly nativeExecution: boolean;
  readonly resolveRuntime: MCPServerConfig['resolveRuntime'];
  readonly validateArguments: ArgumentValidation | undefined;
  readonly maxTools: number;
  readonly logger: ServerLogger;
  readonly secret: Uint8Array | undefined;
  /** Whether jobs come in turns, and the core has to hear when one is over. */
  readonly takesTurns: boolean;
  /** JSON text for the core. */
  readonly data: string;
}

/** Throws a `TypeError` that names the option. */
export function readConfig(config: MCPServerConfig, executor: HarnessToolExecutor | undefined): Settings {
  const whole: object = config;
  assertBag('the options of the server', whole, OPTIONS);
  assertType('the executor', executor, 'function');
  const given: Bag = { ...whole };
  for (const name of TEXTS) assertType(name, given[name], 'string');
  for (const name of FLAGS) assertType(name, given[name], 'boolean');
  for (const name of NUMBERS) assertNumber(name, given[name]);
  for (const name of LISTS) {
    if (given[name] !== undefined && !Array.isArray(given[name])) throw new TypeError(`${name} must be an array`);
  }
  const {
    runtime,
    resolveRuntime,
    validateArguments,
    maxTools = DEFAULT_MAX_TOOLS,
    logger,
    requestStateSecret,
    tenantLimits,
  } = config;
  assertType('resolveRuntime', resolveRuntime, 'function');
  if (runtime !== undefined && !isHost(runtime)) throw new TypeError('runtime must be an object');
  if (!Number.isSafeInteger(maxTools) || maxTools < 1) throw new TypeError('maxTools must be a positive integer');
  if (validateArguments !== undefined && !VALIDATIONS.includes(validateArguments)) {
    throw new TypeError(`validateArguments must be one of ${VALIDATIONS.join(', ')}`);
  }
  if (requestStateSecret !== undefined && !(requestStateSecret instanceof Uint8Array)) {
    throw new TypeError('requestStateSecret must be a Uint8Array');
  }
  // Numbers alone cross as they are: what JSON leaves out would be a limit that does not hold.
  if (tenantLimits !== undefined && !isHost(tenantLimits)) throw new TypeError('tenantLimits must be an object');
  for (const [name, limit] of Object.entries(tenantLimits ?? {})) assertNumber(`tenantLimits.${name}`, limit);
  return {
    runtime,
    executor,
    nativeExecution: config.nativeExecution === true,
    resolveRuntime,
    validateArguments,
    maxTools,
    logger: loggerOf(logger),
    secret: requestStateSecret,
    takesTurns: tenantLimits !== undefined,
    data: encodeData('the options of the server', {
      ...Object.fromEntries(DATA.map((name) => [name, given[name]])),
      hasHook: resolveRuntime !== undefined,
      hasExecutor: executor !== undefined,
    }),
  };
}

function loggerOf(logger: ServerLogger | undefined): ServerLogger {
  if (logger === undefined) return stderrLogger;
  if (!isHost(logger)) throw new TypeError('logger must be an object');
  for (const level of LOG_LEVELS) {
    if (typeof logger[level] !== 'function') throw new TypeError(`logger must have a function ${level}`);
  }
  return logger;
}
