// A `tools/list` result of so many tools, of the size and shape of real ones: some 2 KiB each. The same each time.

const VERBS = ['list', 'get', 'create', 'update', 'delete', 'search', 'export', 'assign', 'merge', 'archive'];
const NOUNS = [
  'issue',
  'pull_request',
  'repository',
  'workflow_run',
  'review.comment',
  'deployment',
  'team/member',
  'secret',
];
const PROSE =
  'Use this when the user asks about it by name or by number; results are paged, and the newest come first unless a sort order is given. ';

export function listing(count) {
  return { tools: Array.from({ length: count }, (_, index) => tool(index)) };
}

function tool(index) {
  const [verb, noun] = [VERBS[index % VERBS.length], NOUNS[Math.floor(index / VERBS.length) % NOUNS.length]];
  const name = `${verb}_${noun}_${index}`;
  const parameters = 3 + (index % 5);
  return {
    name,
    title: `${verb} ${noun}`,
    description: `${verb} one ${noun} or several of them. ${PROSE.repeat(1 + (index % 3))}`,
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: parameters }, (__, n) => parameter(index, n))),
      required: ['owner_0', 'sort_1'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: verb === 'list' },
  };
}

function parameter(index, n) {
  const description = `What the ${n}th parameter of tool ${index} means — „in words“. ${PROSE}`;
  const kinds = [
    { type: 'string', description, minLength: 1, maxLength: 255 },
    { type: 'string', enum: ['created', 'updated', 'comments'], default: 'created', description },
    { type: 'integer', minimum: 1, maximum: 100, default: 30, description },
    { type: 'array', items: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] }, description },
    { type: ['object', 'null'], properties: { path: { type: 'string' }, line: { type: 'integer' } }, description },
  ];
  return [`${['owner', 'sort', 'page', 'labels', 'position'][n % 5]}_${n}`, kinds[n % 5]];
}
