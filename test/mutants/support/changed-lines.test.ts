import { expect, it } from 'vitest';
import { changedLines } from './changed-lines.ts';

const diff = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -3 +3,2 @@ function one() {
-  old
+  new
+  newer
@@ -10,2 +12,0 @@
-gone
-gone
diff --git a/src/gone.ts b/src/gone.ts
--- a/src/gone.ts
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/src/b.ts b/src/b.ts
--- /dev/null
+++ b/src/b.ts
@@ -0,0 +1 @@
+made
`;

it('names the lines that were added and changed, and those around what was removed', () => {
  const found = changedLines(diff);
  expect(found.get('src/a.ts')?.slice(0, 2)).toEqual([
    [3, 4],
    [12, 13],
  ]);
  expect(found.get('src/b.ts')).toEqual([[1, 1]]);
  expect([...found.keys()]).toEqual(['src/a.ts', 'src/b.ts']);
});
