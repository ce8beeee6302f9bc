// The work: from the bytes of a listing to the map of tools, again and again. Beside it the longest time for which nothing
// else of this thread ran: what a user of the process waits for.

const MOST = 100;

export async function measure(subject, { tools, seconds }, clock) {
  const until = performance.now() + seconds * 1000;
  const watch = new Watch();
  let operations = 0;
  let last;
  clock.start();
  do {
    last = await subject.project();
    operations += 1;
  } while (performance.now() < until && operations < MOST);
  clock.stop();
  const longestPauseMs = watch.end();
  check(last, tools);
  last = undefined;
  await subject.tidy();
  return { operations, longestPauseMs };
}

function check(map, tools) {
  const names = Object.keys(map);
  const own = names.filter((name) => name.startsWith('forge__'));
  if (own.length !== tools) throw new Error(`the map holds ${own.length} tools, not ${tools}`);
  if (names[0] !== 'forge__list_issue_0') throw new Error(`the first tool is ${names[0]}`);
  const illegal = own.find((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
  if (illegal !== undefined) throw new Error(`no legal name: ${illegal}`);
  const schema = map[names[0]].input['~standard'].jsonSchema.input();
  if (schema.type !== 'object') throw new Error(`no schema: ${JSON.stringify(schema)}`);
}

/** Looks at how late a timer of a millisecond comes. */
class Watch {
  #longest = 0;
  #last = performance.now();
  #timer;

  constructor() {
    const look = () => {
      this.#note();
      this.#timer = setTimeout(look, 1);
    };
    this.#timer = setTimeout(look, 1);
  }

  end() {
    clearTimeout(this.#timer);
    this.#note();
    return this.#longest;
  }

  #note() {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#last - 1);
    this.#last = now;
  }
}
