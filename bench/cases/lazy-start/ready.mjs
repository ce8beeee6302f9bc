// The work: once in the life of a process, until the name and the schema of every tool are there.

export async function measure(subject, { servers }, clock) {
  clock.start();
  const schemas = await subject.ready();
  clock.stop();
  if (schemas.length !== servers * subject.tools || schemas.some((schema) => schema?.type !== 'object')) {
    throw new Error(`${schemas.length} schemas are known, not ${servers * subject.tools}`);
  }
  return { operations: servers };
}
