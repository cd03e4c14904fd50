// Take a picture of each view at three widths, light and dark. usage: screenshots.mjs DIR

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Stage, openBrowser, tellStory } from "./stage.mjs";

const VIEWS = {
	now: "#/now", conflicts: "#/conflicts", conflict: "#/conflicts/1", rescued: null, history: "#/history", agents: "#/history?by=agent",
	write: "#/history/2", run: "#/run/parser", undo: "#/history/4", places: "#/places", context: "#/context", empty: "#/conflicts?path=nothing", wrong: "#/history/999",
};

const dir = process.argv[2] ?? "screenshots";
mkdirSync(dir, { recursive: true });
const stage = new Stage();
const browser = await openBrowser();
try {
	await stage.start("--allow-undo");
	await tellStory(stage);
	const [first] = (await (await stage.get("conflicts")).json()).rescued;
	VIEWS.rescued = `#/rescued/${encodeURIComponent(first.name)}`;
	for (const colorScheme of ["light", "dark"]) {
		for (const width of [380, 900, 1600]) {
			const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" });
			const page = await context.newPage();
			await page.goto(stage.address);
			await page.waitForSelector(".live[data-state=on]");
			for (const [name, hash] of Object.entries(VIEWS)) {
				await page.evaluate((to) => { location.hash = to; }, hash);
				await page.waitForFunction((to) => document.querySelector("main").dataset.route === to, hash);
				if (name === "undo") {
					await page.click(".undo button");
					await page.waitForSelector(".preview");
				}
				if (name === "places") await page.waitForSelector("#shared summary");
				if (["context", "run", "places"].includes(name)) await page.click("summary");
				if (name === "run") await page.waitForSelector("details table");
				const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				if (overflow > 0) console.log(`${name} at ${width}: ${overflow} pixels too wide`);
				await page.screenshot({ path: join(dir, `${name}-${width}-${colorScheme}.png`), fullPage: true });
			}
			await context.close();
		}
	}
} finally {
	await browser.close();
	await stage.strike();
}
console.log(`The pictures are in ${dir}.`);
