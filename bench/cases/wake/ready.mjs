// The work: once in the life of a process, until every tool is in the map with its schema.

export async function measure(subject, { tools }, clock) {
  clock.start();
  const map = await subject.ready();
  clock.stop();
  const known = Object.values(map);
  if (known.length !== subject.servers * tools)
    throw new Error(`${known.length} tools, not ${subject.servers * tools}`);
  for (const { name, input } of known) {
    const schema = input['~standard'].jsonSchema.input();
    if (schema?.type !== 'object' || schema.properties === undefined) throw new Error(`${name} has no schema`);
  }
  // Each server was listed once to be remembered. One that does not answer in the measured time stays at that.
  return { operations: subject.servers, uncounted: subject.silent ? 0 : subject.servers };
}
