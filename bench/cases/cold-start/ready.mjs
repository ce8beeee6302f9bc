// The work: connecting everything, once in the life of a process, until every tool is known.

export async function measure(subject, { tools }, clock) {
  clock.start();
  const known = await subject.connect();
  clock.stop();
  if (known !== subject.servers * tools) throw new Error(`${known} tools are known, not ${subject.servers * tools}`);
  return { operations: subject.servers };
}
