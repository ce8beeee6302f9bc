// A catalogue: from the bytes of a listing to the map of tools, with names, tiers and fingerprints.

const straightforward = new URL('./straightforward.mjs', import.meta.url);
const espalier = new URL('./espalier.mjs', import.meta.url);

/** The case `project`, and with the longest pause of the thread for a metric `project-pause`. */
export function projectCase({ name, title, metric, targets }) {
  return {
    name,
    title,
    packages: ['ai'],
    work: new URL('./work.mjs', import.meta.url),
    subjects: [
      { name: 'espalier', module: espalier, ours: true },
      { name: 'straightforward', module: straightforward },
    ],
    reference: 'straightforward',
    metric,
    variants: [10, 1_000, 10_000].map((tools) => ({
      name: `${tools}-tools`,
      title: `${tools.toLocaleString('en')} tools of some 2 KiB`,
      params: { tools },
      targets: tools === 10_000 ? targets : undefined,
    })),
    input: ({ variant: { params } }) => params,
  };
}

export const benchCase = projectCase({
  name: 'project',
  title: 'from the bytes of a listing to the map of tools: names, tiers, fingerprints',
  metric: { unit: 'ms', better: 'lower', of: (round) => round.elapsedMs / round.operations },
  targets: [{ atLeast: 5 }],
});
