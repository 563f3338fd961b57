import { directiveGroups } from './directives.ts';

/** The table of all directives in Markdown. README.md holds a copy, and a test keeps the two alike. */
export function directiveReference(): string {
  const groups = Object.entries(directiveGroups).map(([heading, directives]) => {
    const rows = Object.entries(directives).map(
      ([name, { accepts, meaning }]) => `| \`${name}\` | ${accepts} | ${meaning.replaceAll('|', '\\|')} |`,
    );
    return [`| **${heading}** | | |`, ...rows].join('\n');
  });
  return ['| directive | accepts | meaning |', '|---|---|---|', ...groups].join('\n');
}
