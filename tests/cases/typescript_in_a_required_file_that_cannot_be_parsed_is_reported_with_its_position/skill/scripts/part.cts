const fine: number = 1;
	let broken: = fine;
